/** A value that components watch. The whole shared state of the dashboard is a handful of these. */
import { useEffect, useState } from 'preact/hooks';

export interface Store<Value> {
  get(): Value;
  set(next: Value): void;
  /** The returned function ends it. */
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

export function useStore<Value>(store: Store<Value>): Value {
  const [value, setValue] = useState(store.get);
  useEffect(() => {
    // It may have changed between drawing and watching.
    setValue(() => store.get());
    return store.subscribe(next => setValue(() => next));
  }, [store]);
  return value;
}
