/** Work on the items of a bulk call, some at a time, so that one bad item fails alone and redirects get their turn. */
import { letOthersRun } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';

/**
 * Items worked on together before redirects get their turn: about a millisecond of work. Together they also ask the same
 * store, and the same checkers, at the same time.
 */
const itemsPerTurn = 100;

/** What `work` makes of each item, in order. A refusal is its item's result, any other error that of the whole call. */
export async function inTurns<Item, Made>(
  items: readonly Item[],
  work: (item: Item) => Promise<Made>,
): Promise<(Made | Problem)[]> {
  const made: (Made | Problem)[] = [];
  const attempt = async (item: Item): Promise<Made | Problem> => {
    try {
      return await work(item);
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  };
  for (let from = 0; from < items.length; from += itemsPerTurn) {
    if (from > 0) await letOthersRun();
    made.push(...(await Promise.all(items.slice(from, from + itemsPerTurn).map(attempt))));
  }
  return made;
}
