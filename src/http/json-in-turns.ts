/** A long list as JSON, written so that redirects get their turn in between. */
import { letOthersRun } from '../base/clock.ts';

const itemsPerTurn = 200;

export async function jsonInTurns<Item>(
  items: readonly Item[],
  viewOf: (item: Item, index: number) => unknown,
): Promise<string> {
  const pieces: string[] = [];
  for (let from = 0; from < items.length; from += itemsPerTurn) {
    if (from > 0) await letOthersRun();
    const turn = items.slice(from, from + itemsPerTurn);
    pieces.push(turn.map((item, place) => JSON.stringify(viewOf(item, from + place))).join(','));
  }
  return `[${pieces.join(',')}]`;
}
