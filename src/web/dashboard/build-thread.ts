/** The entry point of the thread that bundles the dashboard, while redirects go on beside it. */
import { buildDashboard } from './build.ts';

declare const self: Worker;

self.postMessage(await buildDashboard());
