/**
 * Edits, which must have seen the version that they replace. Those that come together share a transaction, as creates
 * do: each is a change that is announced in the feed, and transactions that write to the feed wait for each other.
 */
import type { Postgres, PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import { writeRecords } from '../../../records/drivers/postgres.ts';
import type { RecordWrite } from '../../../records/record-store.ts';
import type { Link } from '../../link.ts';
import type { EventType } from '../../outbox.ts';
import type { PruneAge } from '../../store.ts';
import { editedColumns, erasing, rowOf, statusNumber, tagsIn } from '../rows.ts';
import { noteChanges, takingNumbers } from './feed.ts';
import { rowDefinition } from './schema.ts';

export interface Edit {
  readonly link: Link;
  readonly records: readonly RecordWrite[] | undefined;
  readonly event: EventType | undefined;
}

export type EditOutcome = 'replaced' | 'conflict' | 'missing';

interface LockedLink {
  readonly id: number;
  readonly owner: string;
  readonly tags: string | null;
  readonly version: number;
}

/**
 * One outcome per edit, as if they were made one after the other. Throws `RecordConflict` when records were changed by
 * others meanwhile; `stale` is an edit whose records another edit of the batch changes.
 */
export async function replaceLinks(
  tx: PostgresTransaction,
  edits: readonly Edit[],
): Promise<(EditOutcome | 'stale')[]> {
  const codes = edits.map(({ link }) => link.code);
  const before = await lockLinks(tx, codes);
  const versions = new Map([...before].map(([code, { version }]) => [code, version]));
  const written = new Set<string>();
  const outcomes = edits.map(({ link, records = [] }): EditOutcome | 'stale' => {
    const version = versions.get(link.code);
    if (version === undefined) return 'missing';
    if (version !== link.version - 1) return 'conflict';
    const names = records.map(({ kind, key }) => `${kind} ${key}`);
    if (names.some(name => written.has(name))) return 'stale';
    for (const name of names) written.add(name);
    versions.set(link.code, link.version);
    return 'replaced';
  });
  const made = edits.filter((_, index) => outcomes[index] === 'replaced');
  if (made.length === 0) return outcomes;

  const links = [...new Map(made.map(({ link }) => [link.code, link])).values()];
  await tx.query(write, [JSON.stringify(links.map(rowOf))], { name: 'edit-links' });
  await retag(tx, links, before);
  const records = made.flatMap(edit => edit.records ?? []);
  await writeRecords(tx, records, made[0]!.link.updatedAt);
  const notes = made.map(({ link, event: type }) => ({
    at: link.updatedAt,
    code: link.code,
    claim: undefined,
    event: type && { type, link },
  }));
  await noteChanges(tx, notes);
  return outcomes;
}

/** By code, those that are there; locked in the order of their codes, so that there is no deadlock. */
async function lockLinks(
  tx: PostgresTransaction,
  codes: readonly string[],
): Promise<Map<string, LockedLink>> {
  const rows = await tx.query<LockedLink & { code: string }>(
    'SELECT code, id, owner, tags, version FROM links WHERE code = ANY($1) ORDER BY code FOR UPDATE',
    [codes],
    { name: 'lock-links' },
  );
  return new Map(rows.map(row => [row.code, row]));
}

const write = `
  UPDATE links SET ${editedColumns.map(name => `${name} = given.${name}`).join(', ')}
  FROM json_to_recordset($1::json) AS given(${rowDefinition}) WHERE links.code = given.code`;

async function retag(
  tx: PostgresTransaction,
  links: readonly Link[],
  before: ReadonlyMap<string, LockedLink>,
): Promise<void> {
  const removed: TagRow[] = [];
  const added: TagRow[] = [];
  for (const { code, tags } of links) {
    const { id: linkId, owner, tags: tagsBefore } = before.get(code)!;
    const oldTags = tagsIn(tagsBefore);
    for (const tag of oldTags) if (!tags.includes(tag)) removed.push({ owner, tag, linkId });
    for (const tag of tags) if (!oldTags.includes(tag)) added.push({ owner, tag, linkId });
  }
  await removeTags(tx, removed);
  await addTags(tx, added);
}

const followable = [statusNumber('active'), statusNumber('quarantined')].join(', ');

/** One statement: the last click of a link is noted in the feed with it, any other does not touch the feed. */
const countClick = `
  WITH counted AS (
    UPDATE links SET used_clicks = used_clicks + 1
    WHERE code = $1 AND status IN (${followable}) AND (max_clicks IS NULL OR used_clicks < max_clicks)
    RETURNING code, used_clicks = max_clicks AS is_last
  ), numbered AS (
    UPDATE feed SET ${takingNumbers('1')} FROM counted WHERE counted.is_last RETURNING last_seq, code
  ), noted AS (
    INSERT INTO changes (seq, at, code) SELECT last_seq, $2, code FROM numbered
  )
  SELECT 1 FROM counted`;

export async function useClick(postgres: Postgres, code: string, at: number): Promise<boolean> {
  return (await postgres.query(countClick, [code, at], { name: 'count-click' })).length > 0;
}

/** Says that one of the owner's links has the tag. */
export interface TagRow {
  readonly owner: string;
  readonly tag: string;
  readonly linkId: number;
}

/** The tags of a row of links, as rows of their own. */
export const tagRowsOf = (link: { id: number; owner: string; tags: string | null }): TagRow[] =>
  tagsIn(link.tags).map(tag => ({ owner: link.owner, tag, linkId: link.id }));

/** Rows travel as arrays, whose lengths the planner knows, so it looks for each by the whole key. */
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

/**
 * Removes old rows, in small batches. Rows that another transaction holds, above all another sweep, are left for the
 * next time: no transaction waits for a sweep, and a sweep for none.
 */
export function purgeExpired(postgres: Postgres, expiredBefore: number, limit: number): Promise<number> {
  return postgres.transaction(async tx => {
    const expired = await tx.query<{
      code: string;
      id: number;
      owner: string;
      tags: string | null;
      stays: boolean;
    }>(
      // Most generated codes are protected from reuse by the mark or their claim; others need their row.
      `SELECT code, id, owner, tags, custom = 1 OR guards_code = 1 AS stays FROM links
       WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
      [expiredBefore, limit],
    );
    if (expired.length === 0) return 0;
    const codesOf = (rows: typeof expired): string[] => rows.map(({ code }) => code);
    const staying = codesOf(expired.filter(({ stays }) => stays));
    const leaving = codesOf(expired.filter(({ stays }) => !stays));
    await removeTags(tx, expired.flatMap(tagRowsOf));
    await tx.query(`UPDATE links SET ${erasing} WHERE code = ANY($1)`, [staying]);
    await tx.query('DELETE FROM links WHERE code = ANY($1)', [leaving]);
    return expired.length;
  });
}

const pruneAnswers = `
  WITH old AS MATERIALIZED (
    SELECT owner, key FROM idempotency WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ), removed AS (
    DELETE FROM idempotency USING old WHERE idempotency.owner = old.owner AND idempotency.key = old.key RETURNING 1
  )
  SELECT count(*) AS removed FROM removed`;

const pruneChanges = `
  WITH old AS MATERIALIZED (
    SELECT seq FROM changes WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED
  ), removed AS (
    DELETE FROM changes USING old WHERE changes.seq = old.seq RETURNING changes.seq
  )
  SELECT count(*) AS removed, max(seq) AS last FROM removed`;

export async function prune(
  postgres: Postgres,
  { answersBefore, changesBefore }: PruneAge,
  limit: number,
): Promise<number> {
  const [answers] = await postgres.query<{ removed: number }>(pruneAnswers, [answersBefore, limit]);
  const changes = await postgres.transaction(async tx => {
    const [row] = await tx.query<{ removed: number; last: number | null }>(pruneChanges, [
      changesBefore,
      limit,
    ]);
    // A reader that has not read as far as this has missed changes, and finds a gap.
    if (row!.last !== null) {
      await tx.query('UPDATE feed SET pruned_seq = $1 WHERE pruned_seq < $1', [row!.last]);
    }
    return row!.removed;
  });
  return answers!.removed + changes;
}
