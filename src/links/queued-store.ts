/**
 * A link store whose new links go through a queue, so that a burst of creates is not a burst of writes to the engine. A
 * plain link with a leased code (`isPlain`) is recorded as pending, where every process finds it, then queued, and
 * only then acknowledged; any insert that needs an answer from the store goes there directly.
 *
 * In this order, because a link is drained as soon as it is queued: if its pending record were written later, that
 * could happen after its removal, and the record would stay. So at each point where the process may die:
 * - before the record: nothing happened;
 * - between record and queue: the code was never returned, and the record expires on its own (`pendingLifeMs`);
 * - after the queue: the link is durable and will be stored, whether or not the caller was answered.
 *
 * A link is stored before its pending record is removed, so a caller that asks the store, then the records, then the
 * store again misses none. A change to a pending link stores it first; the drain then finds its own link there.
 */
import type { Clock } from '../base/clock.ts';
import { notDone, Problem } from '../base/errors.ts';
import type { Link } from './link.ts';
import type { LinkQueue, PendingLinks } from './queue.ts';
import { encodeQueuedLink, queuedItem, readableLinks } from './queued-link.ts';
import { type InsertItem, type InsertOutcome, isPlain, type LinkStore } from './store.ts';

export interface QueuedStoreOptions {
  readonly store: LinkStore;
  readonly queue: Pick<LinkQueue, 'append' | 'waiting'>;
  readonly pendings: Pick<PendingLinks, 'put' | 'find' | 'remove'>;
  readonly gate: { through(count: number, append: () => Promise<boolean>): Promise<boolean> };
  /** False for a code that was never leased, whatever else it may be. */
  readonly mayBePending: (code: string) => boolean;
  /** Whether this process knows of every change since then, and none was of this code. */
  readonly isUnchangedSince: (code: string, at: number) => boolean;
  readonly clock: Clock;
}

export interface QueuedStore extends LinkStore {
  readonly figures: QueuedStoreFigures;
}

/** For the metrics. Counts only grow. */
export interface QueuedStoreFigures {
  /** Links that were acknowledged once the queue had them. */
  queued: number;
  /** Those that went to the store because no pending record could be written. */
  passed: number;
  /** Those that were stored ahead of the drain because they were changed. */
  storedEarly: number;
}

/** As many as the drain writes in one transaction. */
const settledAtOnce = 500;
/** For this long after its creation, which is as long as changes are known, a record answers while the store is down. */
const youngMs = 60_000;

export function queuedStore(options: QueuedStoreOptions): QueuedStore {
  const { store, queue, pendings, gate, mayBePending, isUnchangedSince, clock } = options;
  const figures: QueuedStoreFigures = { queued: 0, passed: 0, storedEarly: 0 };

  /** False when no process could find the links before they are stored: then nothing was queued. */
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
      // The caller gets a rejection, so the rejected links must not be found.
      await forget(links);
      throw error;
    }
  };

  /** Records that cannot be removed expire on their own. */
  const forget = (links: readonly Link[]): Promise<void> =>
    pendings.remove(links.map(({ code }) => code)).catch(() => undefined);

  /**
   * A rejection is that of the whole call, unless others of it are queued already: the caller has to learn their codes.
   */
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
        detail: 'The store is unavailable, so this link cannot be looked up now.',
        headers: { 'Retry-After': '1' },
        cause,
        outcome: 'none',
      });
    }
  };

  /**
   * A new link is known without the store, unless it has changed: then its record is a leftover, which may be written
   * again for as long as the link waits in the queue.
   */
  const findNew = async (code: string): Promise<Link | undefined> => {
    const pending = await findPending(code);
    if (pending === undefined || clock.now() - pending.createdAt > youngMs) return undefined;
    return isUnchangedSince(code, pending.createdAt) ? pending : undefined;
  };

  /** Stores links ahead of the drain. Throws when some could not be stored, which stay as they are. */
  const storeNow = async (links: readonly Link[]): Promise<void> => {
    const outcomes = await store.insert(links.map(queuedItem));
    const stored = links.filter((_, place) => outcomes[place]!.kind !== 'failed');
    await forget(stored);
    figures.storedEarly += stored.length;
    for (const outcome of outcomes) if (outcome.kind === 'failed') throw outcome.problem;
  };

  /** Stores a pending link; any other is left as it is. */
  const storeEarly = async (code: string): Promise<void> => {
    const link = await findPending(code);
    if (link !== undefined) await storeNow([link]);
  };

  const settle = async (isWanted: (link: Link) => boolean): Promise<number> => {
    let settled = 0;
    for await (const texts of queue.waiting()) {
      const wanted = readableLinks(texts).filter(isWanted);
      for (let from = 0; from < wanted.length; from += settledAtOnce) {
        const links = wanted.slice(from, from + settledAtOnce);
        await storeNow(links);
        settled += links.length;
      }
    }
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
          detail: 'The list of links waiting to be stored is unavailable now.',
          headers: { 'Retry-After': '1' },
          cause,
          outcome: 'none',
        });
      }
    },
    findNew,
    async find(code) {
      let stored: Link | undefined;
      try {
        stored = await store.find(code);
      } catch (error) {
        const fresh = await findNew(code);
        if (fresh === undefined) throw error;
        return fresh;
      }
      if (stored !== undefined || !mayBePending(code)) return stored;
      // Between the first two reads it may have been stored and its record removed.
      return (await findPending(code)) ?? store.find(code);
    },
    sharesCommits: false,
    async insert(items) {
      const plain = items.filter(isPlain);
      const links = plain.map(({ link }) => link);
      // First, because a queue that rejects must leave nothing behind.
      const areQueued = plain.length > 0 && (await gate.through(plain.length, () => enqueue(links)));
      if (areQueued) figures.queued += plain.length;
      else figures.passed += plain.length;
      const direct = areQueued ? items.filter(item => !isPlain(item)) : items;
      const outcomes = (await insertDirectly(direct, areQueued)).values();
      return items.map((item): InsertOutcome => {
        if (areQueued && isPlain(item)) return { kind: 'inserted' };
        return outcomes.next().value!;
      });
    },
    async replace(link, trace) {
      const outcome = await store.replace(link, trace);
      if (outcome === 'replaced' && mayBePending(link.code)) await forget([link]);
      if (outcome !== 'missing') return outcome;
      await storeEarly(link.code).catch(notDone);
      return store.replace(link, trace);
    },
    async useClick(code, at) {
      if (await store.useClick(code, at)) return true;
      const stored = await store.find(code);
      if (stored === undefined) await storeEarly(code);
      else if (stored.maxClicks !== null && stored.usedClicks >= stored.maxClicks) return false;
      // It is stored now: by this call, or by the drain since the first attempt.
      return store.useClick(code, at);
    },
  };
}
