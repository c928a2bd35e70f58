/**
 * A link store that finds out the outcome of a write whose answer was lost. The same conditional write is made again:
 * it either does what the first did not, or finds what the first has written, which is recognised. Both are definite
 * answers, so a caller gets an unknown outcome only while the store cannot be reached.
 *
 * This is safe because the repeat is the same write: an insert under the same code never overwrites, an edit names the
 * version that it replaces, and an engine makes the repeat wait for a first attempt that is still under way. What the
 * first has left counts once it is as durable as an answered write (`confirmCommits`).
 */
import { type Clock, sleep } from '../base/clock.ts';
import { isInDoubt, Problem } from '../base/errors.ts';
import type { Link } from './link.ts';
import type { InsertItem, InsertOutcome, LinkStore } from './store.ts';
import { differences } from './trace.ts';

/** Backoff before the repeats. More would keep the caller waiting for an engine that is down. */
const pausesMs = [0, 250];
/** Once a write has taken longer, its caller has waited long enough. */
const repeatWithinMs = 2_000;

type Replaced = Awaited<ReturnType<LinkStore['replace']>>;

export function confirmedStore(store: LinkStore, clock: Clock): LinkStore {
  /** Repeats until one repeat gives an answer; false when none did. */
  const repeat = async (startedMs: number, attempt: () => Promise<boolean>): Promise<boolean> => {
    for (const pauseMs of pausesMs) {
      if (clock.monotonicMs() - startedMs > repeatWithinMs) return false;
      await sleep(clock, pauseMs);
      if (await attempt().catch(unlessFault)) return true;
    }
    return false;
  };

  const insertedBefore = async (item: InsertItem, outcome: InsertOutcome): Promise<boolean> => {
    if (outcome.kind === 'found' || outcome.kind === 'replayed') return isSameInsert(outcome.link, item.link);
    if (outcome.kind !== 'taken') return false;
    const stored = await store.find(item.link.code);
    return stored !== undefined && isSameInsert(stored, item.link);
  };

  return {
    ...store,
    async insert(items) {
      const startedMs = clock.monotonicMs();
      let failure: Problem | undefined;
      const outcomes = await store.insert(items).catch((error: unknown): InsertOutcome[] => {
        if (!isInDoubt(error)) throw error;
        failure = error;
        return items.map(() => ({ kind: 'failed', problem: error }));
      });
      const inDoubt = (): number[] => [...outcomes.keys()].filter(place => isDoubtful(outcomes[place]!));
      if (!outcomes.some(isDoubtful)) return outcomes;
      const isCertain = await repeat(startedMs, async () => {
        const places = inDoubt();
        const again = await store.insert(places.map(place => items[place]!));
        const ours: number[] = [];
        for (const [index, place] of places.entries()) {
          const outcome = again[index]!;
          // A repeat that failed says nothing about the first attempt.
          if (outcome.kind === 'failed') continue;
          if (await insertedBefore(items[place]!, outcome)) ours.push(place);
          else outcomes[place] = outcome;
        }
        if (ours.length > 0) await store.confirmCommits?.();
        for (const place of ours) outcomes[place] = { kind: 'inserted' };
        return inDoubt().length === 0;
      });
      if (!isCertain && failure !== undefined && inDoubt().length === items.length) throw failure;
      return outcomes;
    },

    async replace(link, trace) {
      const startedMs = clock.monotonicMs();
      try {
        return await store.replace(link, trace);
      } catch (error) {
        if (!isInDoubt(error)) throw error;
        let outcome: Replaced = 'conflict';
        const isCertain = await repeat(startedMs, async () => {
          outcome = await store.replace(link, trace);
          if (outcome !== 'conflict') return true;
          const stored = await store.find(link.code);
          if (stored === undefined || !isSameEdit(stored, link)) return true;
          await store.confirmCommits?.();
          outcome = 'replaced';
          return true;
        });
        if (!isCertain) throw error;
        return outcome;
      }
    },
  };
}

const isDoubtful = (outcome: InsertOutcome): boolean =>
  outcome.kind === 'failed' && isInDoubt(outcome.problem);

/** Whether the link is the one that was to be made, and not one that another caller made under the same code. */
const isSameInsert = (stored: Link, wanted: Link): boolean =>
  stored.code === wanted.code &&
  stored.ownerId === wanted.ownerId &&
  stored.longUrl === wanted.longUrl &&
  stored.createdAt === wanted.createdAt;

const isSameEdit = (stored: Link, wanted: Link): boolean =>
  stored.version === wanted.version &&
  stored.updatedAt === wanted.updatedAt &&
  Object.keys(differences(stored, wanted).after).length === 0;

/** The repeat failed as well. */
function unlessFault(error: unknown): boolean {
  if (error instanceof Problem) return false;
  throw error;
}
