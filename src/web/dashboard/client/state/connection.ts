/**
 * Whether the server can be reached. A request that fails to reach it reports it here; health checks with a growing
 * backoff follow, and all waiting requests go on when one succeeds.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
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
/** One check at a time: a slow one that fails must not overrule a later one. */
let isAsking = false;
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
  if (isAsking) return;
  isAsking = true;
  const abort = new AbortController();
  const cancel = browserClock.after(signMaxMs, () => abort.abort());
  const isAlive = await fetch('/health/live', { signal: abort.signal, cache: 'no-store' }).then(
    response => response.ok,
    () => false,
  );
  cancel();
  isAsking = false;
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
  /** Shows this value at once, such as the answer to a change, and drops a read in progress, which is older. */
  replace(value: Value): void;
}

/**
 * One read at a time. A reload during a read starts another one after it: frequent reloads do not cancel slow answers,
 * and a reload after a change reads the result of the change.
 */
export function createReader<Value>(
  read: (signal: AbortSignal) => Promise<Value>,
  { onStart, onValue, onProblem }: ReaderEvents<Value>,
) {
  let current: { readonly abort: AbortController; isOutdated: boolean } | undefined;
  const stop = (): void => {
    current?.abort.abort();
    current = undefined;
  };
  const start = (): void => {
    stop();
    const own = { abort: new AbortController(), isOutdated: false };
    current = own;
    onStart();
    const end = (show: () => void): void => {
      if (own.abort.signal.aborted) return;
      current = undefined;
      show();
      if (own.isOutdated) start();
    };
    read(own.abort.signal).then(
      value => end(() => onValue(value)),
      error => {
        if (!isAbort(error)) end(() => onProblem(error as ApiProblem));
      },
    );
  };
  const reload = (): void => {
    if (current === undefined) start();
    else current.isOutdated = true;
  };
  return { start, reload, stop };
}

interface ReaderEvents<Value> {
  onStart(): void;
  onValue(value: Value): void;
  onProblem(problem: ApiProblem): void;
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
  const { returns } = useStore(connection);
  const latestLoad = useRef(load);
  latestLoad.current = load;
  const [reader] = useState(() =>
    createReader(signal => latestLoad.current(signal), {
      onStart: () => setLoading(true),
      onValue(value) {
        setState({ value, problem: undefined });
        setLoading(false);
      },
      onProblem(problem) {
        setState(before => ({ value: before.value, problem }));
        setLoading(false);
      },
    }),
  );

  // The key covers everything that loading depends on. Starts before the page is painted, to save time.
  useLayoutEffect(() => {
    reader.start();
    return reader.stop;
  }, [key, returns]);

  const replace = useCallback((value: Value) => {
    reader.stop();
    setState({ value, problem: undefined });
    setLoading(false);
  }, []);
  return { ...state, isLoading, reload: reader.reload, replace };
}

/** Reloads periodically, while the page is visible. */
export function useRefresh(refresh: () => void, everyMs: number): void {
  const latest = useRef(refresh);
  latest.current = refresh;
  useEffect(
    () =>
      browserClock.every(everyMs, () => {
        if (document.visibilityState === 'visible') latest.current();
      }),
    [everyMs],
  );
}

interface Page {
  readonly nextCursor: string | null;
}

/** One page is followed by the next one. */
type Read<Value> = (cursor: string | undefined, signal: AbortSignal) => Promise<Value>;

interface Shown<Value> {
  readonly key: string;
  readonly value: Value;
  /** The function that read the first page, so that later pages are of the same list. */
  readonly read: Read<Value>;
}

export interface Pages<Value> extends Resource<Value> {
  /** Whether the pages are those of the key; older ones stay until the first new one arrives. */
  readonly isCurrent: boolean;
  readonly isReadingMore: boolean;
  /** The error of the last attempt to read more. */
  readonly moreProblem: ApiProblem | undefined;
  more(): void;
  /** Reads the first page again, unless more pages are shown. */
  refresh(): void;
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
  return {
    value: shown?.value,
    problem: first.isLoading && !isCurrent ? undefined : first.problem,
    moreProblem: failed?.key === key ? failed.problem : undefined,
    isLoading: first.isLoading,
    isCurrent,
    isReadingMore,
    more: () => void more(),
    refresh() {
      if (!isExtended) first.reload();
    },
    reload() {
      setExtended(undefined);
      setFailed(undefined);
      first.reload();
    },
    replace(value) {
      if (isExtended) setExtended({ key, value, read });
      else first.replace({ key, value, read });
    },
  };
}
