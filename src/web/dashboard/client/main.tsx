/** Where the dashboard's script begins. */
import { render } from 'preact';
import { App } from './app.tsx';

const root = document.getElementById('dashboard');
if (root !== null) render(<App />, root);
