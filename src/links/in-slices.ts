/** Work on the items of a bulk call, some at a time, so that one bad item fails alone and redirects get their turn. */
import { type Clock, Turns } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';

/**
 * Items processed together before redirects get their turn: about a millisecond of work, and fewer where it is more.
 * Together they also ask the same store, and the same checkers, at the same time.
 */
const itemsPerTurn = 100;

/**
 * The result of `work` for each item, in order. A rejection is its item's result, any other error that of the whole
 * call.
 */
export async function inSlices<Item, Made>(
  clock: Clock,
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
  const turns = new Turns(clock, itemsPerTurn);
  let turn: Promise<Made | Problem>[] = [];
  for (const item of items) {
    if (!turns.hasRoom()) {
      made.push(...(await Promise.all(turn)));
      turn = [];
      await turns.next();
    }
    turn.push(attempt(item));
  }
  made.push(...(await Promise.all(turn)));
  return made;
}
