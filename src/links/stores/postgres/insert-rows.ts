/** Writes rows of links and their tags in one statement, however many; never over what is there. */
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import type { InsertItem } from '../../store.ts';
import { rowOf } from '../rows.ts';
import { rowDefinition, writtenColumns } from './columns.ts';

const columns = [...writtenColumns, 'guards_code'].join(', ');

/**
 * Ids are drawn in the order of the items, for lists are in the order of creation; rows are written in the order of
 * their codes, so that two processes that write the same codes wait for each other one way round only.
 */
const statement = `
  WITH given AS MATERIALIZED (
    SELECT coalesce(item.drawn_id, nextval('link_ids')) AS id, item.*
    FROM json_to_recordset($1::json) AS item(drawn_id int8, ${rowDefinition})
  ), added AS (
    INSERT INTO links (id, ${columns}) SELECT id, ${columns} FROM given ORDER BY code COLLATE "C", id
    ON CONFLICT (code) DO NOTHING RETURNING code, id, owner, tags
  ), tagged AS (
    INSERT INTO link_tags (owner, tag, link_id)
    SELECT owner, tag, id FROM added, json_array_elements_text(tags::json) AS tag
    ON CONFLICT DO NOTHING
  )
  SELECT code FROM added`;

export interface NewRow {
  readonly item: InsertItem;
  /** Undefined for the next one. */
  readonly id?: number | undefined;
}

/** The codes that were written; of rows that share a code the first has it. */
export async function insertRows(
  query: PostgresTransaction['query'],
  newRows: readonly NewRow[],
  deadlineMs?: number,
): Promise<Set<string>> {
  if (newRows.length === 0) return new Set();
  const rows = newRows.map(({ item: { link, leased, claim }, id }) => ({
    ...rowOf(link),
    drawn_id: id,
    guards_code: leased || claim !== undefined ? 0 : 1,
  }));
  const added = await query<{ code: string }>(statement, [JSON.stringify(rows)], {
    name: 'insert-links',
    ...(deadlineMs !== undefined && { deadlineMs }),
  });
  return new Set(added.map(({ code }) => code));
}

/** Ids for links that are written later, but in the order of these. */
export async function drawIds(tx: PostgresTransaction, count: number): Promise<number[]> {
  const text = "SELECT nextval('link_ids') AS id FROM generate_series(1, $1)";
  return (await tx.query<{ id: number }>(text, [count])).map(({ id }) => id);
}
