/**
 * Whether the server can be reached. A request that fails to reach it reports it here; health checks with a growing
 * backoff follow, and all waiting requests go on when one succeeds.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
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

interface Page {
  readonly nextCursor: string | null;
}

/** One page is followed by the next one. */
type Read<Value> = (cursor: string | undefined, signal: AbortSignal) => Promise<Value>;

interface Shown<Value> {
  readonly key: string;
  readonly value: Value;
  /** What the first page was read with, so that later pages are of the same list. */
  readonly read: Read<Value>;
}

interface Pages<Value> extends Resource<Value> {
  /** Whether the pages are those of the key; older ones stay until the first new one arrives. */
  readonly isCurrent: boolean;
  readonly isReadingMore: boolean;
  more(): void;
}

/**
 * `key` identifies the list, and an answer for another key is never shown under it. The first page is also read again
 * when `refresh` changes, but not once more pages are shown, so that the list does not move while it is read.
 */
export function usePages<Value extends Page>(
  key: string,
  read: Read<Value>,
  join: (before: Value, next: Value) => Value,
  refresh: string | number = '',
): Pages<Value> {
  const [extended, setExtended] = useState<Shown<Value>>();
  const [failed, setFailed] = useState<{ readonly key: string; readonly problem: ApiProblem }>();
  const [isReadingMore, setReadingMore] = useState(false);
  const reading = useRef<AbortController | undefined>(undefined);
  const isExtended = extended?.key === key;
  const turn = useRef(refresh);
  if (!isExtended) turn.current = refresh;
  const first = useResource(`${key} ${turn.current}`, async (signal): Promise<Shown<Value>> => {
    return { key, value: await read(undefined, signal), read };
  });
  useEffect(
    () => () => {
      reading.current?.abort();
      setReadingMore(false);
    },
    [key],
  );

  const shown = isExtended ? extended : first.value;
  const isCurrent = shown?.key === key;
  const more = async (): Promise<void> => {
    if (shown === undefined || shown.value.nextCursor === null || !isCurrent || isReadingMore) return;
    const abort = new AbortController();
    reading.current = abort;
    setReadingMore(true);
    setFailed(undefined);
    try {
      const next = await shown.read(shown.value.nextCursor, abort.signal);
      if (abort.signal.aborted) return;
      setExtended({ ...shown, value: join(shown.value, next) });
    } catch (error) {
      if (abort.signal.aborted || isAbort(error)) return;
      setFailed({ key, problem: error as ApiProblem });
    }
    setReadingMore(false);
  };
  const firstProblem = isCurrent || first.isLoading ? undefined : first.problem;
  return {
    value: shown?.value,
    problem: failed?.key === key ? failed.problem : firstProblem,
    isLoading: first.isLoading,
    isCurrent,
    isReadingMore,
    more: () => void more(),
    reload() {
      setExtended(undefined);
      setFailed(undefined);
      first.reload();
    },
    replace: value => setExtended({ key, value, read }),
  };
}
