import type { LinkCache } from '../cache.ts';

/** Where no shared cache is configured: knows nothing, keeps nothing, tells nobody. */
export function createNoCache(): LinkCache {
  return {
    get: async () => undefined,
    fill: async () => false,
    fence: async () => [],
    readMark: async () => ({ nowMs: 0, mark: undefined }),
    writeMark: async (_seq, trustFromMs) => trustFromMs,
    onReturn: () => {},
    publish: async () => {},
    onMessage: () => {},
  };
}
