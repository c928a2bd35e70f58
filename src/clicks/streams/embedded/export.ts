/**
 * Single clicks of one link, as lines of text, a piece at a time: whoever downloads a year of clicks, or begins to and
 * stops reading, is held no more than one piece in memory for. Frames of the log are read whole, and clicks that look
 * alike take next to nothing there, so a piece may end within one.
 */
import { clickAt, clickCount } from '../../batch.ts';
import { exportHead, exportLine, fieldsOf } from '../../export-lines.ts';
import type { ExportCursor, ExportFilter, ExportPart } from '../../reports.ts';
import { listLogs, readFrames } from './stream.ts';

/** Read of the log at once, where clicks are packed to a tenth or less. */
const readBytes = 64 * 1024;
const pieceChars = 256 * 1024;
const dayMs = 24 * 60 * 60_000;

export function exportPart(
  folder: string,
  filter: ExportFilter,
  cursor: ExportCursor | undefined,
  forgottenBefore: number,
): ExportPart {
  const head = cursor === undefined ? exportHead(filter.format) : '';
  const partitions = listLogs(folder).filter(partition => mayHold(partition, filter));
  const partition = partitions.find(name => cursor === undefined || name >= cursor.partition);
  if (partition === undefined) return { text: head, next: undefined };
  const { position, clicks } = cursor?.partition === partition ? cursor : { position: 0, clicks: 0 };
  const batches = isLaterThan(filter, partition)
    ? readFrames(folder, partition, position, 1).filter(({ batch }) => batch.at[0]! < filter.to)
    : readFrames(folder, partition, position, readBytes);
  const from = Math.max(filter.from, forgottenBefore);
  let text = head;
  for (const { batch, from: frame } of batches) {
    const wanted = batch.links.map(({ code }) => code === filter.code);
    if (!wanted.includes(true)) continue;
    for (let index = frame === position ? clicks : 0; index < clickCount(batch); index += 1) {
      const at = batch.at[index]!;
      if (!wanted[batch.link[index]!] || at < from || at >= filter.to) continue;
      text += exportLine(fieldsOf(clickAt(batch, index)), filter.format);
      if (text.length >= pieceChars) return { text, next: { partition, position: frame, clicks: index + 1 } };
    }
  }
  const following = partitions[partitions.indexOf(partition) + 1];
  const end = batches.at(-1)?.to;
  const next =
    end !== undefined
      ? { partition, position: end, clicks: 0 }
      : following === undefined
        ? undefined
        : { partition: following, position: 0, clicks: 0 };
  return { text, next };
}

const dayOf = (partition: string): number => Date.parse(partition.slice(0, 10));

/** Clicks are in no log of a day before they happened, but for the moments around midnight. */
function mayHold(partition: string, { from }: ExportFilter): boolean {
  return dayOf(partition) + 2 * dayMs > from;
}

/**
 * A click is logged on the day it happened or, around midnight, on the next, unless it was spilled and stored
 * days later. Such clicks come first in their log, so a later log is read only as long as it has any.
 */
function isLaterThan({ to }: ExportFilter, partition: string): boolean {
  return dayOf(partition) - dayMs >= to;
}
