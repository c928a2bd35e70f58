/** Counts all that a topic still has anew, unless some of what was counted of it cannot be had. */
import { rebuildFrom } from '../../rebuild.ts';
import type { Warehouse } from '../../warehouse.ts';
import { type KeptTopic, keptFrom } from './kept.ts';
import { openWholeSource, type WholeSourceOptions } from './whole-source.ts';

export type RebuiltTopic = KeptTopic & WholeSourceOptions;

export async function rebuildFromKafka(
  warehouse: Warehouse,
  topic: RebuiltTopic,
  onPause?: () => Promise<void>,
): Promise<void> {
  // Where the counts stand is asked first: the topic goes on meanwhile.
  const positions = await warehouse.positions();
  await rebuildFrom(warehouse, {
    source: await openWholeSource(topic, positions),
    keptFrom: await keptFrom(topic),
    producers: (await warehouse.producers()).map(({ producer }) => producer),
    onPause,
  });
}
