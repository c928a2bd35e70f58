/** A value that components subscribe to. The whole shared state of the dashboard is a handful of these. */
import { useEffect, useState } from 'preact/hooks';

interface Store<Value> {
  get(): Value;
  set(next: Value): void;
  /** The returned function unsubscribes. */
  subscribe(listener: (value: Value) => void): () => void;
}

export function createStore<Value>(initial: Value): Store<Value> {
  let current = initial;
  const listeners = new Set<(value: Value) => void>();
  return {
    get: () => current,
    set(next) {
      if (Object.is(next, current)) return;
      current = next;
      for (const listener of [...listeners]) listener(next);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Resolves when the value is as wanted; rejects when the caller gives up. */
export function whenStore<Value>(
  store: Store<Value>,
  isWanted: (value: Value) => boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (isWanted(store.get())) return resolve();
    if (signal?.aborted) return reject(signal.reason);
    const stop = store.subscribe(next => {
      if (!isWanted(next)) return;
      stop();
      resolve();
    });
    signal?.addEventListener('abort', () => {
      stop();
      reject(signal.reason);
    });
  });
}

export function useStore<Value>(store: Store<Value>): Value {
  const [value, setValue] = useState(store.get);
  useEffect(() => {
    // It may have changed between rendering and subscribing.
    setValue(() => store.get());
    return store.subscribe(next => setValue(() => next));
  }, [store]);
  return value;
}
