/** Inserts the links of a bulk call, some at a time: all of them take too long for one turn of the event loop. */
import { yieldToEventLoop } from '../base/clock.ts';
import { Problem, withOutcome } from '../base/errors.ts';
import type { InsertItem, InsertOutcome, LinkStore } from './store.ts';

/** Links per call to the store: a few milliseconds of work, wherever it passes them. */
const itemsPerInsert = 2_000;

/**
 * A rejection is that of the whole call, unless some links are created already, by it or before it (`isAnyDone`): the
 * caller has to learn their codes.
 */
export function insertMany(
  store: LinkStore,
  items: readonly InsertItem[],
  isAnyDone: boolean,
): Promise<InsertOutcome[]> {
  // A slice with a trace takes a turn longer to reach the writer: the order would be lost, and the first no longer wins.
  const isQueued =
    store.sharesCommits === true &&
    items.length > itemsPerInsert &&
    items.every(({ trace }) => trace === undefined);
  return (isQueued ? insertTogether : insertInSlices)(store, items, isAnyDone);
}

async function insertInSlices(
  store: LinkStore,
  items: readonly InsertItem[],
  isAnyDone: boolean,
): Promise<InsertOutcome[]> {
  const outcomes: InsertOutcome[] = [];
  for (let from = 0; from < items.length; from += itemsPerInsert) {
    const slice = items.slice(from, from + itemsPerInsert);
    try {
      outcomes.push(...(await store.insert(slice)));
    } catch (error) {
      if ((from === 0 && !isAnyDone) || !(error instanceof Problem)) throw error;
      outcomes.push(...slice.map(() => ({ kind: 'failed', problem: error }) as const));
      // The rest is not tried: each slice would wait for its own deadline.
      const problem = withOutcome(error, 'none') as Problem;
      while (outcomes.length < items.length) outcomes.push({ kind: 'failed', problem });
      break;
    }
  }
  return outcomes;
}

/** Passes each slice on without waiting for the one before it, so that those that wait share a commit. */
async function insertTogether(
  store: LinkStore,
  items: readonly InsertItem[],
  isAnyDone: boolean,
): Promise<InsertOutcome[]> {
  const inserting: Promise<InsertOutcome[]>[] = [];
  const problems: Problem[] = [];
  let fault: unknown;
  for (let from = 0; from < items.length; from += itemsPerInsert) {
    if (from > 0) await yieldToEventLoop();
    const slice = items.slice(from, from + itemsPerInsert);
    inserting.push(
      store.insert(slice).catch((error: unknown) => {
        // Thrown only when all slices have ended: until then nobody would catch it.
        if (!(error instanceof Problem)) fault ??= error;
        else problems.push(error);
        return slice.map(() => ({ kind: 'failed', problem: error as Problem }) as const);
      }),
    );
  }
  const outcomes = (await Promise.all(inserting)).flat();
  if (fault !== undefined) throw fault;
  if (problems.length === inserting.length && !isAnyDone)
    throw problems.find(({ outcome }) => outcome === 'unknown') ?? problems[0];
  return outcomes;
}
