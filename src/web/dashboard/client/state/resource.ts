/**
 * Something read from the server for a component: the value, or why there is none. What was shown stays until
 * the new value is there, and a server that comes back is asked again.
 */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type ApiProblem, isAbort } from '../api/problem.ts';
import { connection } from './connection.ts';
import { useStore } from './store.ts';

export interface Resource<Value> {
  readonly value: Value | undefined;
  readonly problem: ApiProblem | undefined;
  readonly isLoading: boolean;
  reload(): void;
  /** Shows this at once, such as what a change answered with. */
  replace(value: Value): void;
}

/** `key` names what is read; it is read anew whenever the key changes. */
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

  // The key stands for all that the loading depends on.
  useEffect(() => {
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
