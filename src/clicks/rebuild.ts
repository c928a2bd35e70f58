/**
 * Counts all that a stream still has anew, in place of what was counted of it. What is older than the stream itself stays
 * as it was counted; since the first kept day may hold clicks of the day before, or only some of its own, counting starts
 * with the day after it in that case.
 */
import type { ClickSource, StreamBatch } from './stream.ts';
import { grainMs, type Warehouse } from './warehouse.ts';

export interface RebuildSource {
  /** One whose empty reads can be believed: they are the end of a partition. */
  readonly source: ClickSource;
  /** Everything that was written since then is still kept; undefined when nothing is. */
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
  // Nothing is kept, so all that was counted is older than what is.
  if (partitions.length === 0) return;
  const earliest = await warehouse.earliest();
  const countFrom =
    keptFrom === undefined || earliest === undefined || earliest >= keptFrom ? 0 : dayAfter(keptFrom);
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

const dayAfter = (at: number): number => (Math.floor(at / grainMs.day) + 1) * grainMs.day;
