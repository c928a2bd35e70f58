/**
 * A store whose calls are spans below the request that makes them, so that a trace shows what a slow request waited for.
 * Made only where traces are collected, and only for the API: a redirect never passes here.
 */

import type { TraceContext, Tracer } from '../telemetry/tracing/tracer.ts';
import type { LinkStore } from './store.ts';

/** `parentOf` returns the request that a call belongs to, if any. */
export function tracedStore(
  store: LinkStore,
  tracer: Tracer,
  parentOf: () => TraceContext | undefined,
): LinkStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown => {
        const parent = parentOf();
        const call = (): unknown => member.apply(target, given);
        return parent === undefined ? call() : follow(String(name), parent, call);
      };
    },
  });

  function follow(name: string, parent: TraceContext, call: () => unknown): unknown {
    const span = tracer.start(`store ${name}`, { parent });
    const result = call();
    // A synchronous answer is no wait, and a span that is not ended is never exported.
    if (!(result instanceof Promise)) return result;
    return result.then(
      value => {
        span.end();
        return value;
      },
      error => {
        span.end(error instanceof Error ? error.message : String(error));
        throw error;
      },
    );
  }
}
