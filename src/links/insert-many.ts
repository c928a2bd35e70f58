/**
 * Many inserts, from one call or from many. Those of a bulk call are passed to the store some at a time: all of them take
 * too long for one turn of the event loop. Those of calls that arrive together become one.
 */
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
  if (items.length <= itemsPerInsert && !isAnyDone) return store.insert(items);
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

/**
 * A store that inserts what arrives in one turn of the event loop with one call, where it shares a commit anyway: what
 * surrounds an insert, and the message to the writer, then cost once what each link would cost alone. A link with a
 * trace takes longer and goes alone, and so does one with an alias, because others would wait for its announcement.
 */
export function gatheringStore(store: LinkStore): LinkStore {
  if (store.sharesCommits !== true) return store;
  let gathering: { readonly items: InsertItem[]; readonly inserted: Promise<InsertOutcome[]> } | undefined;
  const gather = (): NonNullable<typeof gathering> => {
    const items: InsertItem[] = [];
    // After those that were resolved by the same read, such as that of their key.
    const inserted = Promise.resolve().then(() => {
      if (gathering?.items === items) gathering = undefined;
      return store.insert(items);
    });
    return { items, inserted };
  };
  return {
    ...store,
    insert(items) {
      const [item] = items;
      if (items.length !== 1 || !item!.leased || item!.trace !== undefined) return store.insert(items);
      if (gathering === undefined || gathering.items.length === itemsPerInsert) gathering = gather();
      const place = gathering.items.push(item!) - 1;
      return gathering.inserted.then(outcomes => [outcomes[place]!]);
    },
  };
}
