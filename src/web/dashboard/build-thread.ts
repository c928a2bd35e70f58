/** The entry point of the thread that bundles the dashboard, so that redirects are not blocked. */
import { buildDashboard } from './build.ts';

declare const self: Worker;

self.postMessage(await buildDashboard());
