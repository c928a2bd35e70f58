/**
 * Single clicks of one link, as lines of text, a piece at a time, in the order in which they happened. A piece goes on
 * behind the last click of the one before, so nothing is kept for whoever reads slowly or stops.
 */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { quoted } from '../../../engines/clickhouse/text.ts';
import { type ExportFields, exportHead, exportLine } from '../../export-lines.ts';
import type { ExportCursor, ExportFilter, ExportPart } from '../../reports.ts';
import { tableName } from './schema.ts';

/** About a quarter of a megabyte of text. */
const pieceClicks = 1_000;

type Row = Omit<ExportFields, 'at'> & {
  readonly atMs: number;
  readonly producer: string;
  readonly sequence: number;
};

export async function exportPart(
  clickHouse: ClickHouse,
  generation: number,
  filter: ExportFilter,
  cursor: ExportCursor | undefined,
  forgottenBefore: number,
): Promise<ExportPart> {
  const from = Math.max(filter.from, forgottenBefore, cursor?.position ?? 0);
  // Where the last piece ended: a time, and who noted the click, under which number.
  const behind =
    cursor === undefined
      ? ''
      : `AND (at, producer, sequence) > (${time(cursor.position)}, ${quoted(cursor.partition)}, ${cursor.clicks})`;
  const rows = await clickHouse.rows<Row>(`
    SELECT toUnixTimestamp64Milli(at) AS atMs, code, kind, leftPad(lower(hex(visitor)), 16, '0') AS visitor,
      country, city, device, browser, os, referrer, agent AS userAgent, signal, producer, sequence
    FROM ${tableName('clicks', generation)}
    WHERE code = ${quoted(filter.code)} AND at >= ${time(from)} AND at < ${time(filter.to)} ${behind}
    ORDER BY code, at, producer, sequence LIMIT ${pieceClicks}`);
  const lines = rows.map(({ atMs, producer: _, sequence: __, ...fields }) =>
    exportLine({ at: new Date(atMs).toISOString(), ...fields }, filter.format),
  );
  const last = rows.length === pieceClicks ? rows.at(-1) : undefined;
  return {
    text: (cursor === undefined ? exportHead(filter.format) : '') + lines.join(''),
    next: last && { partition: last.producer, position: last.atMs, clicks: last.sequence },
  };
}

/** As much as a column of times can be compared with. */
const latestMs = Date.UTC(2200, 0);
const time = (at: number): string =>
  `fromUnixTimestamp64Milli(${Math.min(latestMs, Math.max(0, Math.floor(at)))}, 'UTC')`;
