/**
 * Whether the server can be reached. Whoever fails to reach it says so here; it is then asked for a sign of life,
 * with growing pauses, and everyone who waits goes on when it gives one.
 */
import { browserClock } from '../../../../base/browser-clock.ts';
import { createStore } from './store.ts';

export interface Connection {
  readonly isAway: boolean;
  /** When the server is asked next; for the banner. */
  readonly retryAtMs: number;
  /** Grows each time the server comes back, so that what is shown can be read anew. */
  readonly returns: number;
}

const pausesMs = [1_000, 2_000, 4_000, 8_000, 10_000];
const signMaxMs = 5_000;

export const connection = createStore<Connection>({ isAway: false, retryAtMs: 0, returns: 0 });

let failures = 0;
let cancelRetry = (): void => {};

export function noteAway(): void {
  if (connection.get().isAway) return;
  failures = 0;
  planRetry();
}

export function retryNow(): void {
  cancelRetry();
  void askForSign();
}

/** Resolves when the server can be reached; rejects when the one who waits gives up. */
export function serverBack(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!connection.get().isAway) return resolve();
    const stop = connection.subscribe(({ isAway }) => {
      if (isAway) return;
      stop();
      resolve();
    });
    signal?.addEventListener('abort', () => {
      stop();
      reject(signal.reason);
    });
  });
}

function planRetry(): void {
  const pauseMs = pausesMs[Math.min(failures, pausesMs.length - 1)]!;
  const { returns } = connection.get();
  connection.set({ isAway: true, retryAtMs: browserClock.now() + pauseMs, returns });
  cancelRetry = browserClock.after(pauseMs, () => void askForSign());
}

async function askForSign(): Promise<void> {
  const abort = new AbortController();
  const cancel = browserClock.after(signMaxMs, () => abort.abort());
  const isAlive = await fetch('/health/live', { signal: abort.signal, cache: 'no-store' }).then(
    response => response.ok,
    () => false,
  );
  cancel();
  if (isAlive) {
    connection.set({ isAway: false, retryAtMs: 0, returns: connection.get().returns + 1 });
    return;
  }
  failures += 1;
  planRetry();
}
