/**
 * Many inserts, from one call or from many. Those of a bulk call are passed to the store some at a time, or all at once
 * where they share a commit. Those of calls that arrive together become one.
 */
import { Problem, withOutcome } from '../base/errors.ts';
import type { InsertItem, InsertOutcome, LinkStore } from './store.ts';

/** Links per call to the store: a few milliseconds of work, wherever it passes them, unless they have traces. */
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
  // A link with a trace writes up to thirty rows: a call of many would keep others from the store for seconds.
  const isQuick = store.sharesCommits === true && items.every(({ trace }) => trace === undefined);
  const perInsert = isQuick ? items.length : itemsPerInsert;
  if (items.length <= perInsert && !isAnyDone) return store.insert(items);
  return insertInSlices(store, items, perInsert, isAnyDone);
}

async function insertInSlices(
  store: LinkStore,
  items: readonly InsertItem[],
  perInsert: number,
  isAnyDone: boolean,
): Promise<InsertOutcome[]> {
  const outcomes: InsertOutcome[] = [];
  for (let from = 0; from < items.length; from += perInsert) {
    const slice = items.slice(from, from + perInsert);
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
