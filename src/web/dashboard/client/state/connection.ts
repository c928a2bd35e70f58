/**
 * Whether the server can be reached. A request that fails to reach it reports it here; health checks with a growing
 * backoff follow, and all waiting requests go on when one succeeds.
 */
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { type ApiProblem, isAbort } from '../api/request.ts';
import { createStore, useStore, whenStore } from './store.ts';

interface Connection {
  readonly isDown: boolean;
  /** When the next health check is due; for the banner. */
  readonly retryAtMs: number;
  /** Incremented each time the server comes back, so that shown data can be reloaded. */
  readonly returns: number;
}

const pausesMs = [1_000, 2_000, 4_000, 8_000, 10_000];
const signMaxMs = 5_000;

export const connection = createStore<Connection>({ isDown: false, retryAtMs: 0, returns: 0 });

let failures = 0;
let cancelRetry = (): void => {};

export function noteDown(): void {
  if (connection.get().isDown) return;
  failures = 0;
  planRetry();
}

export function retryNow(): void {
  cancelRetry();
  void askForSign();
}

/** Resolves when the server can be reached; rejects when the caller gives up. */
export const serverBack = (signal: AbortSignal | undefined): Promise<void> =>
  whenStore(connection, ({ isDown }) => !isDown, signal);

function planRetry(): void {
  const pauseMs = pausesMs[Math.min(failures, pausesMs.length - 1)]!;
  const { returns } = connection.get();
  connection.set({ isDown: true, retryAtMs: browserClock.now() + pauseMs, returns });
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
    connection.set({ isDown: false, retryAtMs: 0, returns: connection.get().returns + 1 });
    return;
  }
  failures += 1;
  planRetry();
}

/** Data read from the server for a component. The old value stays until the new one arrives. */
export interface Resource<Value> {
  readonly value: Value | undefined;
  readonly problem: ApiProblem | undefined;
  readonly isLoading: boolean;
  reload(): void;
  /** Shows this value at once, such as the answer to a change. */
  replace(value: Value): void;
}

/** `key` identifies the data; it is reloaded when the key changes, and when the server comes back. */
export function useResource<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
): Resource<Value> {
  const [state, setState] = useState<{ value: Value | undefined; problem: ApiProblem | undefined }>({
    value: undefined,
    problem: undefined,
  });
  const [isLoading, setLoading] = useState(true);
  const [turn, setTurn] = useState(0);
  const { returns } = useStore(connection);
  const latestLoad = useRef(load);
  latestLoad.current = load;

  // The key covers everything that loading depends on. Before the page is painted: the server works meanwhile.
  useLayoutEffect(() => {
    const abort = new AbortController();
    setLoading(true);
    latestLoad.current(abort.signal).then(
      value => {
        if (abort.signal.aborted) return;
        setState({ value, problem: undefined });
        setLoading(false);
      },
      error => {
        if (abort.signal.aborted || isAbort(error)) return;
        setState(before => ({ value: before.value, problem: error as ApiProblem }));
        setLoading(false);
      },
    );
    return () => abort.abort();
  }, [key, turn, returns]);

  const reload = useCallback(() => setTurn(current => current + 1), []);
  const replace = useCallback((value: Value) => setState({ value, problem: undefined }), []);
  return { ...state, isLoading, reload, replace };
}
