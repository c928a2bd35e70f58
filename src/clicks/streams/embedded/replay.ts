/**
 * The click log, read again from a time on. A log holds a day, so that is where reading begins; clicks of an evening that
 * were written after midnight are in the log of the next day, which is read as well.
 */
import type { ReplayableStream } from '../../replay.ts';
import { grainMs } from '../../warehouse.ts';
import { listDays, listLogs, readFrames } from './stream.ts';

const readBytesMax = 4 * 1024 * 1024;
const logPattern = /^\d{4}-\d{2}-\d{2}\/.+\.log$/;

export function createEmbeddedReplay(folder: string): ReplayableStream {
  return {
    async positionsAt(time) {
      const day = new Date(Math.max(0, time)).toISOString().slice(0, 10);
      return new Map(
        listLogs(folder)
          .filter(log => log >= day)
          .map(log => [log, 0]),
      );
    },
    async readUntil(partition, position, end) {
      const items = readFrames(folder, partition, position, readBytesMax).filter(({ from }) => from < end);
      return { items, to: items.at(-1)?.to ?? position };
    },
    keptSince: async () => oldestDay(folder),
    // The first day may have begun in another stream.
    begunAt: async () => oldestDay(folder) + grainMs.day,
    isOwn: partition => logPattern.test(partition),
  };
}

function oldestDay(folder: string): number {
  const [oldest] = listDays(folder);
  return oldest === undefined ? Number.POSITIVE_INFINITY : Date.parse(oldest);
}
