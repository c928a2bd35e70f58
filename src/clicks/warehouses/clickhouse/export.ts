/**
 * Single clicks of one link, as lines of text, a piece at a time, in the order in which they happened. A piece
 * continues behind the last click of the one before, so nothing is kept for a client that reads slowly or stops.
 */
import { type ClickHouse, quoted, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import { type ExportFields, exportedColumns, exportHead, exportLine } from '../../export.ts';
import type { ExportCursor, ExportFilter, ExportPart } from '../../stats.ts';
import { singlesText, timeText } from './singles.ts';
import type { Generation } from './upgrade.ts';

/** About a quarter of a megabyte of text. */
const pieceClicks = 1_000;

interface Row {
  readonly atMs: number;
  readonly producer: string;
  readonly sequence: number;
  readonly [field: string]: string | number;
}

export async function exportPart(
  clickHouse: ClickHouse,
  generation: Generation,
  filter: ExportFilter,
  cursor: ExportCursor | undefined,
  forgottenBefore: number,
): Promise<ExportPart> {
  const from = Math.max(filter.from, forgottenBefore, cursor?.position ?? 0);
  const ofLink = `code = ${quoted(filter.code)} AND at >= ${timeText(from)} AND at < ${timeText(filter.to)}`;
  const owners = await clickHouse.rows<{ owner: string }>(
    `SELECT DISTINCT owner FROM (${singlesText(generation, 'owner', ofLink)})`,
  );
  // Where the last piece ended: a time, and the producer of the click with its number.
  const behind =
    cursor === undefined
      ? ''
      : `AND (at, producer, sequence) > (${timeText(cursor.position)}, ${quoted(cursor.partition)}, ${cursor.clicks})`;
  const columns = `at, code, kind, leftPad(lower(hex(visitor)), 16, '0') AS visitor,
    city, referrer, agent AS userAgent, signal, producer, sequence, ${exportedColumns.join(', ')}`;
  // With one owner, clicks lie in this order.
  const ofOwner =
    owners.length === 1
      ? `owner = ${quoted(owners[0]!.owner)}`
      : `owner IN ${quotedList(owners.map(({ owner }) => owner))}`;
  const piece = `ORDER BY at, producer, sequence LIMIT ${pieceClicks}`;
  const rows = await clickHouse.rows<Row>(`
    SELECT toUnixTimestamp64Milli(at) AS atMs, * EXCEPT (at)
    FROM (${singlesText(generation, columns, `${ofOwner} AND ${ofLink} ${behind} ${piece}`)}) ${piece}`);
  const lines = rows.map(({ atMs, producer: _, sequence: __, ...fields }) =>
    exportLine({ at: new Date(atMs).toISOString(), ...(fields as ExportFields) }, filter.format),
  );
  const last = rows.length === pieceClicks ? rows.at(-1) : undefined;
  return {
    text: (cursor === undefined ? exportHead(filter.format) : '') + lines.join(''),
    next: last && { partition: last.producer, position: last.atMs, clicks: last.sequence },
  };
}
