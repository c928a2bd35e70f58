/**
 * Where the clicks of an edge's log go when the click log is embedded: files of the log's own name, written by this run
 * alone, as what a dead producer left behind. Whoever counts the log finds them there.
 */
import type { Clock } from '../../../base/clock.ts';
import { clickCount } from '../../batch.ts';
import type { ImportSink } from '../../edge-import.ts';
import { createEmbeddedStream, listLogs, producerOf, readFrames } from './stream.ts';

export interface EmbeddedImportOptions {
  readonly folder: string;
  readonly producer: string;
  /** Unique for each import: half a frame that a crash left must not come before a whole one. */
  readonly run: string;
  /** What is known of the log when its own files are no longer kept. */
  readonly stored: { read(): number | undefined; write(stored: number): void };
  readonly clock: Clock;
}

const readBytes = 1024 * 1024;

export function openEmbeddedImport({
  folder,
  producer,
  run,
  stored,
  clock,
}: EmbeddedImportOptions): ImportSink {
  const stream = createEmbeddedStream({ folder, producer: run, clock });
  return {
    stored: Math.max(stored.read() ?? 0, storedIn(folder, producer)),
    pass() {},
    async append(batch) {
      await stream.append(batch, producer);
      stored.write(batch.firstSequence + clickCount(batch) - 1);
    },
    close: () => stream.close(),
  };
}

/** What lies in the log counts, also when a crash came before it was noted: nothing is to lie there twice. */
function storedIn(folder: string, producer: string): number {
  let newest = 0;
  for (const partition of listLogs(folder).filter(name => producerOf(name) === producer)) {
    for (let position = 0; ; ) {
      const batches = readFrames(folder, partition, position, readBytes);
      for (const { batch } of batches) newest = Math.max(newest, batch.firstSequence + clickCount(batch) - 1);
      const end = batches.at(-1)?.to;
      if (end === undefined) break;
      position = end;
    }
  }
  return newest;
}
