/** Lists that are read page by page, each page added to those before it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiProblem, isAbort } from '../api/request.ts';
import { type Resource, useResource } from './connection.ts';

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

export interface Pages<Value> extends Resource<Value> {
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
