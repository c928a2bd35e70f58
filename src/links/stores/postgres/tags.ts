/**
 * Which of an owner's links have a tag. The rows to be found travel as arrays, whose lengths the planner knows, so it
 * looks for each by the whole key.
 */
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';

export interface TagRow {
  readonly owner: string;
  readonly tag: string;
  readonly linkId: number;
}

/** The tags of a row of links, as rows of their own. */
export const tagRowsOf = (link: { id: number; owner: string; tags: string | null }): TagRow[] =>
  tagsIn(link.tags).map(tag => ({ owner: link.owner, tag, linkId: link.id }));

export const tagsIn = (tags: string | null): string[] =>
  tags === null ? [] : (JSON.parse(tags) as string[]);

export async function addTags(tx: PostgresTransaction, rows: readonly TagRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.query(
    `INSERT INTO link_tags (owner, tag, link_id) SELECT * FROM unnest($1::text[], $2::text[], $3::int8[])
     ON CONFLICT DO NOTHING`,
    columnsOf(rows),
  );
}

export async function removeTags(tx: PostgresTransaction, rows: readonly TagRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.query(
    `DELETE FROM link_tags USING unnest($1::text[], $2::text[], $3::int8[]) AS old(owner, tag, link_id)
     WHERE link_tags.owner = old.owner AND link_tags.tag = old.tag AND link_tags.link_id = old.link_id`,
    columnsOf(rows),
  );
}

const columnsOf = (rows: readonly TagRow[]): unknown[] => [
  rows.map(({ owner }) => owner),
  rows.map(({ tag }) => tag),
  rows.map(({ linkId }) => linkId),
];
