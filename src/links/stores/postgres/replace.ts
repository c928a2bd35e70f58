/**
 * Edits, which must have seen the version that they replace. Those that come together share a transaction, as creates
 * do: each is a change that everyone hears of, and who notes changes waits for the commit of who did before.
 */
import { appendAudit } from '../../../engines/postgres/audit-table.ts';
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import type { Link } from '../../link.ts';
import type { LinkTrace } from '../../trace.ts';
import { rowOf } from '../rows.ts';
import { rowDefinition } from './columns.ts';
import { noteChanges } from './feed.ts';
import type { KeepReviews } from './insert-batch.ts';
import { addTags, removeTags, type TagRow, tagsIn } from './tags.ts';

export interface Edit {
  readonly link: Link;
  readonly trace: LinkTrace | undefined;
}

export type EditOutcome = 'replaced' | 'conflict' | 'missing';

// A click may be counted between an edit's read and its write, so an edit leaves used_clicks alone.
const editedColumns = [
  ...['long_url', 'url_hash', 'status', 'redirect_type', 'forward_query', 'public_stats', 'title', 'tags'],
  ...['updated_at', 'expires_at', 'max_clicks', 'risk', 'version'],
];

interface LockedLink {
  readonly id: number;
  readonly owner: string;
  readonly tags: string | null;
  readonly version: number;
}

/** One outcome per edit, as if they were made one after the other. `keepReviews` is moderation's part of the write. */
export async function replaceLinks(
  tx: PostgresTransaction,
  edits: readonly Edit[],
  keepReviews: KeepReviews,
): Promise<EditOutcome[]> {
  const codes = edits.map(({ link }) => link.code);
  const before = await lockLinks(tx, codes);
  const versions = new Map([...before].map(([code, { version }]) => [code, version]));
  const outcomes = edits.map(({ link }): EditOutcome => {
    const version = versions.get(link.code);
    if (version === undefined) return 'missing';
    if (version !== link.version - 1) return 'conflict';
    versions.set(link.code, link.version);
    return 'replaced';
  });
  const made = edits.filter((_, index) => outcomes[index] === 'replaced');
  if (made.length === 0) return outcomes;

  const links = [...new Map(made.map(({ link }) => [link.code, link])).values()];
  await tx.query(write, [JSON.stringify(links.map(rowOf))], { name: 'edit-links' });
  await retag(tx, links, before);
  const traces = made.flatMap(({ trace }) => trace ?? []);
  const records = traces.map(({ audit }) => audit);
  await appendAudit(tx, records);
  const reviews = traces.flatMap(({ review }) => review ?? []);
  if (reviews.length > 0) await keepReviews(tx, reviews);
  const notes = made.map(({ link }) => ({ at: link.updatedAt, code: link.code, claim: undefined }));
  await noteChanges(tx, notes);
  return outcomes;
}

/** By code, those that are there; locked in the order of their codes, so that nobody waits in a circle. */
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
