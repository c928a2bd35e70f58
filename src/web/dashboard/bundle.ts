/**
 * The dashboard's files as a browser gets them: one script, its texts in another language, one style sheet, a tiny
 * script that sets the theme before anything is drawn, and the world map. There is no build step before a start: the files are bundled at the first
 * request for the dashboard, in their own thread, and kept in memory. An executable carries them prebuilt, see
 * build.ts.
 *
 * Invariant: a file's name carries the hash of its content, so it may be cached forever.
 */
import { prebuilt } from './prebuilt.ts';

export interface DashboardFile {
  /** As in `/assets/dashboard.1a2b3c4d.js`. */
  readonly path: string;
  readonly contentType: string;
  readonly text: string;
}

export interface DashboardBundle {
  readonly script: DashboardFile;
  readonly german: DashboardFile;
  readonly theme: DashboardFile;
  readonly style: DashboardFile;
  readonly map: DashboardFile;
}

let bundling: Promise<DashboardBundle> | undefined;

/** All servers of a process share one bundle; after a failure, the next request retries. */
export function dashboardBundle(): Promise<DashboardBundle> {
  bundling ??= (prebuilt === undefined ? bundleInThread() : Promise.resolve(prebuilt)).catch(error => {
    bundling = undefined;
    throw error;
  });
  return bundling;
}

function bundleInThread(): Promise<DashboardBundle> {
  const worker = new Worker(new URL('./build-thread.ts', import.meta.url));
  const { promise, resolve, reject } = Promise.withResolvers<DashboardBundle>();
  worker.onmessage = ({ data }: MessageEvent<DashboardBundle>) => resolve(data);
  worker.onerror = event => reject(new Error(`the dashboard cannot be bundled: ${event.message}`));
  return promise.finally(() => worker.terminate());
}
