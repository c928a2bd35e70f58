/** The queue in memory: the port in its plainest form, for tests. Nothing in it outlives the process. */
import type { Clock } from '../../base/clock.ts';
import type { DeadLetter, LinkQueue, QueuedMessage } from '../queue.ts';

export interface MemoryQueue extends LinkQueue {
  readonly buried: readonly DeadLetter[];
}

const waitingPageMax = 500;

export function createMemoryQueue(clock: Clock): MemoryQueue {
  /** In the order of appending; whoever closes gives back what was not finished, to the front. */
  let free: QueuedMessage[] = [];
  const taken = new Set<QueuedMessage[]>();
  const buried: DeadLetter[] = [];
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
    buried,
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
    async bury(letters) {
      buried.push(...letters);
    },
    async close() {},
  };
}
