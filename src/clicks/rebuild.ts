/**
 * Counts all that a stream still has anew, in place of what was counted of it. What is older than the stream itself stays
 * as it was counted; since the first kept day may hold clicks of the day before, counting starts with the day after it
 * in that case.
 */
import type { ClickSource, StreamBatch } from './stream.ts';
import { grainMs, type Warehouse } from './warehouse.ts';

export interface RebuildSource {
  readonly source: ClickSource;
  /** Start of the first UTC day that is still kept; undefined when nothing is. */
  readonly keptFrom: number | undefined;
  /** Whose batches there are. */
  readonly producers: readonly string[];
  /** Called now and then, so that new clicks can be taken in. */
  readonly onPause?: (() => Promise<void>) | undefined;
}

const readBytesMax = 4 * 1024 * 1024;

export async function rebuildFrom(
  warehouse: Warehouse,
  { source, keptFrom, producers, onPause }: RebuildSource,
): Promise<void> {
  const partitions = await source.behind(new Map());
  const earliest = await warehouse.earliest();
  const countFrom =
    keptFrom === undefined || earliest === undefined || earliest >= keptFrom ? 0 : keptFrom + grainMs.day;
  async function* batches(): AsyncGenerator<StreamBatch[]> {
    for (const { name } of partitions) {
      for (let position = 0; ; ) {
        const chunk = await source.read(name, position, readBytesMax);
        if (chunk.length === 0) break;
        position = chunk.at(-1)!.to;
        yield chunk;
        await onPause?.();
      }
    }
  }
  await warehouse.rebuild({ countFrom, producers }, batches());
}
