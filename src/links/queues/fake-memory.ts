/** The queue in memory: the port in its plainest form, for tests. Nothing in it outlives the process. */
import type { Clock } from '../../base/clock.ts';
import type { Link } from '../link.ts';
import {
  type DeadLetter,
  type LinkQueue,
  type PendingLinks,
  pendingLeftMs,
  type QueuedMessage,
} from '../queue.ts';

export interface MemoryQueue extends LinkQueue {
  readonly deadLettered: readonly DeadLetter[];
}

const waitingPageMax = 500;

export function createMemoryQueue(clock: Clock): MemoryQueue {
  /** In the order of appending; a consumer that closes returns its unfinished messages to the front. */
  let free: QueuedMessage[] = [];
  const taken = new Set<QueuedMessage[]>();
  const deadLettered: DeadLetter[] = [];
  let appended = 0;
  let wake = Promise.withResolvers<void>();
  const tellAll = (): void => {
    wake.resolve();
    wake = Promise.withResolvers();
  };
  const untilWoken = async (waitMs: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(waitMs, resolve);
    await Promise.race([promise, wake.promise]);
    cancel();
  };
  const unfinished = (): QueuedMessage[] => [...[...taken].flat(), ...free];

  return {
    deadLettered,
    async append(messages) {
      for (const text of messages) {
        free.push({ text, place: String(appended) });
        appended += 1;
      }
      tellAll();
    },
    behind: async () => unfinished().length,
    async *waiting() {
      const all = unfinished().map(({ text }) => text);
      for (let from = 0; from < all.length; from += waitingPageMax)
        yield all.slice(from, from + waitingPageMax);
    },
    consume() {
      const own: QueuedMessage[] = [];
      let isClosed = false;
      taken.add(own);
      return {
        async take(max, waitMs) {
          if (free.length === 0 && waitMs > 0 && !isClosed) await untilWoken(waitMs);
          const next = isClosed ? [] : free.splice(0, max);
          own.push(...next);
          return next;
        },
        async finish() {
          own.length = 0;
        },
        async close() {
          isClosed = true;
          taken.delete(own);
          free = [...own.splice(0), ...free];
          tellAll();
        },
      };
    },
    async deadLetter(letters) {
      deadLettered.push(...letters);
    },
    async close() {},
  };
}

export interface MemoryPendings extends PendingLinks {
  readonly size: number;
  /** Drops everything and reports it, like a server that was restarted. */
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
