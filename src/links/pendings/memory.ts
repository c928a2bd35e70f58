/** Pending links in memory, for tests. */
import type { Clock } from '../../base/clock.ts';
import type { Link } from '../link.ts';
import { type PendingLinks, pendingLeftMs } from '../pending.ts';

export interface MemoryPendings extends PendingLinks {
  readonly size: number;
  /** Forgets everything and says so, as a server does that was started anew. */
  lose(): void;
}

export function createMemoryPendings(clock: Clock): MemoryPendings {
  const links = new Map<string, Link>();
  const listeners: (() => void)[] = [];
  return {
    get size() {
      return links.size;
    },
    lose() {
      links.clear();
      for (const listener of listeners) listener();
    },
    async put(given) {
      for (const link of given) links.set(link.code, link);
    },
    async find(code) {
      const link = links.get(code);
      return link !== undefined && pendingLeftMs(link, clock.now()) > 0 ? link : undefined;
    },
    async remove(codes) {
      for (const code of codes) links.delete(code);
    },
    onReturn: listener => void listeners.push(listener),
  };
}
