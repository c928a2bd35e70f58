/**
 * Single clicks of one link out of Kafka, as lines of text, a piece at a time. Reading begins with the first message that
 * was written at the time asked for, since no click is written before it happens, and ends some time after the last one
 * asked for: clicks that were spilled come late.
 */
import { clickAt, clickCount } from '../../batch.ts';
import { exportHead, exportLine, fieldsOf } from '../../export-lines.ts';
import { partitionOf } from '../../partition-numbers.ts';
import type { ExportCursor, ExportFilter, ExportPart } from '../../reports.ts';
import { type KafkaSource, partitionName } from './source.ts';

export interface KafkaExportOptions {
  readonly source: KafkaSource;
  readonly topic: string;
  readonly partitions: number;
}

const readOptions = { bytesMax: 64 * 1024, waitMaxMs: 0 };
const pieceChars = 256 * 1024;
const lateMaxMs = 24 * 60 * 60_000;

export async function exportKafkaPart(
  { source, topic, partitions }: KafkaExportOptions,
  filter: ExportFilter,
  cursor: ExportCursor | undefined,
  forgottenBefore: number,
): Promise<ExportPart> {
  const starts = await source.positionsAt(filter.from);
  const partition = partitionName(topic, partitionOf(filter.code, partitions) % starts.size);
  const position = cursor?.position ?? starts.get(partition) ?? 0;
  const taken = (await source.take(new Map([[partition, position]]), readOptions)).get(partition);
  const from = Math.max(filter.from, forgottenBefore);
  let text = cursor === undefined ? exportHead(filter.format) : '';
  for (const item of taken?.items ?? []) {
    const wanted = item.batch.links.map(({ code }) => code === filter.code);
    if (!wanted.includes(true)) continue;
    const first = item.position === position ? (cursor?.clicks ?? 0) : 0;
    for (let index = first; index < clickCount(item.batch); index += 1) {
      const at = item.batch.at[index]!;
      if (!wanted[item.batch.link[index]!] || at < from || at >= filter.to) continue;
      text += exportLine(fieldsOf(clickAt(item.batch, index)), filter.format);
      if (text.length >= pieceChars) {
        return { text, next: { partition, position: item.position, clicks: index + 1 } };
      }
    }
  }
  const isOver =
    taken === undefined ||
    taken.to >= taken.end ||
    taken.items.some(({ storedAt }) => storedAt >= filter.to + lateMaxMs);
  return { text, next: isOver ? undefined : { partition, position: taken.to, clicks: 0 } };
}
