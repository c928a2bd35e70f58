/** Work on the items of a bulk call, some at a time, so that one bad item fails alone and redirects get their turn. */
import { type Clock, Turns } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { following, type NowOrLater } from '../base/now-or-later.ts';

/** Items processed before redirects get their turn; fewer where they take more than a few milliseconds. */
const itemsPerTurn = 500;
/** Items that wait for something at a time: together they ask the same store, and the same checkers. */
const waitingMax = 100;

/**
 * The result of `work` for each item, in order. A rejection is its item's result, any other error that of the whole
 * call. For a single item it is available as soon as the item's is.
 */
export function inSlices<Item, Made>(
  clock: Clock,
  items: readonly Item[],
  work: Work<Item, Made>,
): NowOrLater<(Made | Problem)[]> {
  return items.length === 1 ? following(attempt(work, items[0]!, 0), listOf) : inTurns(clock, items, work);
}

type Work<Item, Made> = (item: Item, place: number) => NowOrLater<Made>;

const listOf = <Value>(value: Value): Value[] => [value];

async function inTurns<Item, Made>(
  clock: Clock,
  items: readonly Item[],
  work: Work<Item, Made>,
): Promise<(Made | Problem)[]> {
  const made = new Array<Made | Problem>(items.length);
  const turns = new Turns(clock, itemsPerTurn);
  let waiting: Promise<unknown>[] = [];
  for (let place = 0; place < items.length; place += 1) {
    if (!turns.hasRoom() || waiting.length >= waitingMax) {
      await Promise.all(waiting);
      waiting = [];
      await turns.next();
    }
    const result = attempt(work, items[place]!, place);
    if (!(result instanceof Promise)) made[place] = result;
    else
      waiting.push(
        result.then(later => {
          made[place] = later;
        }),
      );
  }
  if (waiting.length > 0) await Promise.all(waiting);
  return made;
}

/** An error that is no rejection is not thrown: the promises of other items would be left alone. */
function attempt<Item, Made>(work: Work<Item, Made>, item: Item, place: number): NowOrLater<Made | Problem> {
  try {
    const result = work(item, place);
    return result instanceof Promise ? result.catch(orThrow) : result;
  } catch (error) {
    return error instanceof Problem ? error : Promise.reject(error);
  }
}

function orThrow(error: unknown): Problem {
  if (error instanceof Problem) return error;
  throw error;
}
