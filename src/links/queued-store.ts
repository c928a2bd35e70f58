/**
 * A link store whose new links go by a queue, so that a burst of creates is not a burst of writes to the engine. A plain
 * link with a leased code (`isQueueable`) is written down as pending, where every process finds it, then queued, and only
 * then promised; whatever needs an answer from the store goes there directly.
 *
 * In this order, because a link is drained as soon as it is queued: were its pending record written later, it could
 * come after its own removal and stay. So at each point where the process may die:
 * - before the record: nothing happened;
 * - between record and queue: nobody was told of the code, and the record ends by itself (`pendingLifeMs`);
 * - after the queue: the link is durable and will be stored, whether or not anyone was told of it.
 *
 * A link is stored before its pending record is removed, therefore who asks the store, then the records, then the store
 * again misses none. A change to a pending link stores it first; the drain then finds its own link there.
 */
import { Problem } from '../base/errors.ts';
import type { Link } from './link.ts';
import type { PendingLinks } from './pending.ts';
import type { LinkQueue } from './queue.ts';
import type { QueueGate } from './queue-gate.ts';
import { encodeQueuedLink, isQueueable, queuedItem, readableLinks } from './queued-link.ts';
import type { InsertItem, InsertOutcome, LinkStore } from './store.ts';

export interface QueuedStoreOptions {
  readonly store: LinkStore;
  readonly queue: Pick<LinkQueue, 'append' | 'waiting'>;
  readonly pendings: Pick<PendingLinks, 'put' | 'find' | 'remove'>;
  readonly gate: Pick<QueueGate, 'through'>;
  /** False for a code that was never leased, whatever else it may be. */
  readonly mayBePending: (code: string) => boolean;
}

export interface QueuedStore extends LinkStore {
  readonly figures: QueuedStoreFigures;
}

/** For the metrics. Counts only grow. */
export interface QueuedStoreFigures {
  /** Links that were promised when the queue had them. */
  queued: number;
  /** Those that went to the store because no pending record could be written. */
  passed: number;
  /** Those that were stored ahead of the drain because somebody changed them. */
  hastened: number;
}

/** As many as the drain writes in one transaction. */
const settledAtOnce = 500;

export function queuedStore(options: QueuedStoreOptions): QueuedStore {
  const { store, queue, pendings, gate, mayBePending } = options;
  const figures: QueuedStoreFigures = { queued: 0, passed: 0, hastened: 0 };

  /** False when nobody could find the links before they are stored: then nothing was queued. */
  const enqueue = async (links: readonly Link[]): Promise<boolean> => {
    try {
      await pendings.put(links);
    } catch {
      await forget(links);
      return false;
    }
    try {
      await queue.append(links.map(encodeQueuedLink));
      return true;
    } catch (error) {
      // The caller hears a no, and nobody should find what was refused.
      await forget(links);
      throw error;
    }
  };

  /** What cannot be removed ends by itself. */
  const forget = (links: readonly Link[]): Promise<void> =>
    pendings.remove(links.map(({ code }) => code)).catch(() => undefined);

  /** A refusal is that of the whole call, unless others of it are queued already: their maker has to hear of their codes. */
  const insertDirectly = async (
    items: readonly InsertItem[],
    areOthersQueued: boolean,
  ): Promise<InsertOutcome[]> => {
    if (items.length === 0) return [];
    try {
      return await store.insert(items);
    } catch (error) {
      if (!areOthersQueued || !(error instanceof Problem)) throw error;
      return items.map(() => ({ kind: 'failed', problem: error }));
    }
  };

  const findPending = async (code: string): Promise<Link | undefined> => {
    if (!mayBePending(code)) return undefined;
    try {
      return await pendings.find(code);
    } catch (cause) {
      throw new Problem('store_unavailable', {
        detail: 'Whether there is such a link cannot be told for now.',
        headers: { 'Retry-After': '1' },
        cause,
      });
    }
  };

  /** Stores a link that is pending; one that is not is left as it is. */
  const hasten = async (code: string): Promise<void> => {
    const link = await findPending(code);
    if (link === undefined) return;
    await store.insert([queuedItem(link)]);
    await forget([link]);
    figures.hastened += 1;
  };

  const settle = async (isWanted: (link: Link) => boolean): Promise<number> => {
    let settled = 0;
    for await (const texts of queue.waiting()) {
      const wanted = readableLinks(texts).filter(isWanted);
      for (let from = 0; from < wanted.length; from += settledAtOnce) {
        const links = wanted.slice(from, from + settledAtOnce);
        await store.insert(links.map(queuedItem));
        await forget(links);
        settled += links.length;
      }
    }
    figures.hastened += settled;
    return settled;
  };

  return {
    ...store,
    figures,
    async settle(isWanted) {
      try {
        return await settle(isWanted);
      } catch (cause) {
        if (cause instanceof Problem) throw cause;
        throw new Problem('store_unavailable', {
          detail: 'Which links wait to be stored cannot be told for now.',
          headers: { 'Retry-After': '1' },
          cause,
        });
      }
    },
    async find(code) {
      const stored = await store.find(code);
      if (stored !== undefined || !mayBePending(code)) return stored;
      // Between the first two questions it may have been stored and its record removed.
      return (await findPending(code)) ?? store.find(code);
    },
    async insert(items) {
      const plain = items.filter(isQueueable);
      const links = plain.map(({ link }) => link);
      // First, because a queue that refuses must leave nothing behind.
      const areQueued = plain.length > 0 && (await gate.through(plain.length, () => enqueue(links)));
      if (areQueued) figures.queued += plain.length;
      else figures.passed += plain.length;
      const direct = areQueued ? items.filter(item => !isQueueable(item)) : items;
      const outcomes = (await insertDirectly(direct, areQueued)).values();
      return items.map((item): InsertOutcome => {
        if (areQueued && isQueueable(item)) return { kind: 'inserted' };
        return outcomes.next().value!;
      });
    },
    async replace(link, trace) {
      const outcome = await store.replace(link, trace);
      if (outcome !== 'missing') return outcome;
      await hasten(link.code);
      return store.replace(link, trace);
    },
    async useClick(code, at) {
      if (await store.useClick(code, at)) return true;
      // A link that is there has no clicks left, or is not for following.
      if ((await store.find(code)) !== undefined) return false;
      await hasten(code);
      return store.useClick(code, at);
    },
  };
}
