/**
 * Everything that changes links, run on the writer thread inside its shared transaction. The writer holds the
 * database's write lock throughout, so "read the spans, then insert" is one atomic step here.
 */
import type { Database } from 'bun:sqlite';
import { prepareAuditAppend } from '../../../engines/sqlite/audit-table.ts';
import { isLeased, type LeaseRequest, nextRange } from '../../leased-spans.ts';
import type { Link } from '../../link.ts';
import { isSameLink } from '../../same-link.ts';
import type {
  Change,
  IdempotencyRecord,
  InsertItem,
  InsertOutcome,
  LeasedSpan,
  PruneAge,
  RangeLease,
  RememberedAnswer,
} from '../../store.ts';
import type { LinkTrace, ReviewNote } from '../../trace.ts';
import { type LinkRow, linkOf, rowOf, statusNumber } from '../rows.ts';
import { prepareFindByUrl } from './find-by-url.ts';
import { answerText, prepareRecall } from './recall.ts';

const deleted = statusNumber('deleted');
const active = statusNumber('active');
const quarantined = statusNumber('quarantined');

/** `keepReview` is moderation's part of a write: it runs in the same transaction. */
export function linkOperations(database: Database, keepReview: (note: ReviewNote) => void) {
  const appendAudit = prepareAuditAppend(database);
  const insertLink = database.query<unknown, [Omit<LinkRow, 'id'> & { guards_code: number }]>(`
    INSERT INTO links (code, long_url, url_hash, owner, custom, status, redirect_type, forward_query, public_stats, title, tags,
      created_at, updated_at, expires_at, max_clicks, used_clicks, risk, version, guards_code)
    VALUES ($code, $long_url, $url_hash, $owner, $custom, $status, $redirect_type, $forward_query, $public_stats, $title, $tags,
      $created_at, $updated_at, $expires_at, $max_clicks, $used_clicks, $risk, $version, $guards_code)
    ON CONFLICT (code) DO NOTHING`);
  const removeLink = database.query('DELETE FROM links WHERE id = ?');
  // A click may be counted between an edit's read and its write, so an edit leaves used_clicks alone.
  const updateLink = database.query<{ id: number; owner: string }, [Partial<LinkRow> & { seen: number }]>(`
    UPDATE links SET long_url = $long_url, url_hash = $url_hash, status = $status, redirect_type = $redirect_type,
      forward_query = $forward_query, public_stats = $public_stats, title = $title, tags = $tags, updated_at = $updated_at,
      expires_at = $expires_at, max_clicks = $max_clicks, risk = $risk, version = $version
    WHERE code = $code AND version = $seen RETURNING id, owner`);
  const linkExists = database.query<{ found: 1 }, [string]>('SELECT 1 AS found FROM links WHERE code = ?');
  const countClick = database.query<{ isLast: number | null }, [string]>(`
    UPDATE links SET used_clicks = used_clicks + 1
    WHERE code = ? AND status IN (${active}, ${quarantined}) AND (max_clicks IS NULL OR used_clicks < max_clicks)
    RETURNING used_clicks = max_clicks AS isLast`);

  const addTag = database.query('INSERT OR IGNORE INTO link_tags (owner, tag, link_id) VALUES (?, ?, ?)');
  const removeTag = database.query('DELETE FROM link_tags WHERE owner = ? AND tag = ? AND link_id = ?');
  const tagsOf = database.query<{ tags: string | null }, [string]>('SELECT tags FROM links WHERE code = ?');

  const spansOf = database.query<LeasedSpan, [number]>('SELECT first, mark FROM ranges WHERE length = ?');
  const writeMark = database.query(
    'INSERT INTO ranges (length, first, mark) VALUES (?1, ?2, ?3) ON CONFLICT (length, first) DO UPDATE SET mark = ?3',
  );
  const addClaim = database.query('INSERT OR IGNORE INTO claims (length, id) VALUES (?, ?)');
  const claimsWithin = database.query<{ id: number }, [number, number, number]>(
    'SELECT id FROM claims WHERE length = ? AND id >= ? AND id < ?',
  );
  const dropClaims = database.query('DELETE FROM claims WHERE length = ? AND id >= ? AND id < ?');

  const addChange = database.query(
    'INSERT INTO changes (at, code, claim_length, claim_id) VALUES (?, ?, ?, ?)',
  );
  const recall = prepareRecall(database);
  const findByUrl = prepareFindByUrl(database);
  const byCode = database.query<LinkRow, [string]>('SELECT * FROM links WHERE code = ?');
  const keepAnswer = database.query(
    'INSERT OR REPLACE INTO idempotency (owner, key, fingerprint, link, created_at) VALUES (?, ?, ?, ?, ?)',
  );
  const expiredLinks = database.query<
    { id: number; owner: string; custom: number; guards_code: number; tags: string | null },
    [number, number]
  >(
    'SELECT id, owner, custom, guards_code, tags FROM links WHERE expires_at < ? ORDER BY expires_at LIMIT ?',
  );
  const emptyLink = database.query(`
    UPDATE links SET long_url = '', url_hash = 0, status = ${deleted}, title = NULL, tags = NULL, risk = NULL, expires_at = NULL,
      version = version + 1 WHERE id = ?`);
  const dropAnswers = database.query(
    'DELETE FROM idempotency WHERE (owner, key) IN (SELECT owner, key FROM idempotency WHERE created_at < ? LIMIT ?)',
  );
  const dropChanges = database.query(
    'DELETE FROM changes WHERE seq IN (SELECT seq FROM changes WHERE at < ? ORDER BY seq LIMIT ?)',
  );
  const readInstallation = database.query<{ value: Uint8Array }, [string]>(
    'SELECT value FROM installation WHERE name = ?',
  );
  const writeInstallation = database.query('INSERT OR IGNORE INTO installation (name, value) VALUES (?, ?)');

  const noteChange = (at: number, code: string, claim?: Change['claim']): void => {
    addChange.run(at, code, claim?.length ?? null, claim?.id ?? null);
  };

  const keepTrace = (trace: LinkTrace | undefined): void => {
    if (trace === undefined) return;
    appendAudit(trace.audit);
    if (trace.review !== undefined) keepReview(trace.review);
  };

  const remember = (
    record: IdempotencyRecord | undefined,
    outcome: RememberedAnswer['outcome'],
    link: Link,
  ): void => {
    if (record === undefined) return;
    const { ownerId, key, fingerprint, createdAt } = record;
    keepAnswer.run(ownerId, key, fingerprint, answerText(outcome, link), createdAt);
  };

  const foundInstead = (link: Link, idempotency: IdempotencyRecord | undefined): InsertOutcome => {
    remember(idempotency, 'found', link);
    return { kind: 'found', link };
  };

  const taken = ({ link, existing, idempotency }: InsertItem): InsertOutcome => {
    const row = existing === 'same-code' ? byCode.get(link.code) : null;
    const holder = row === null ? undefined : linkOf(row);
    if (holder !== undefined && isSameLink(holder, link)) return foundInstead(holder, idempotency);
    return { kind: 'taken' };
  };

  const insertOne = (item: InsertItem): InsertOutcome => {
    const { link, leased, claim, existing, idempotency, trace } = item;
    const earlier = idempotency && recall(idempotency);
    if (earlier !== undefined) return { kind: 'replayed', ...earlier };
    const found = existing === 'same-url' ? findByUrl(link.ownerId, link.longUrl, link.createdAt) : undefined;
    if (found !== undefined) return foundInstead(found, idempotency);
    if (claim !== undefined && isLeased(spansOf.all(claim.length), claim.id)) return taken(item);
    const row = { ...rowOf(link), guards_code: leased || claim !== undefined ? 0 : 1 };
    const { changes, lastInsertRowid } = insertLink.run(row);
    if (changes === 0) return taken(item);
    if (claim !== undefined && addClaim.run(claim.length, claim.id).changes === 0) {
      // The link that claimed this id was purged after its expiry; the claim outlives it.
      removeLink.run(Number(lastInsertRowid));
      return { kind: 'taken' };
    }
    for (const tag of link.tags) addTag.run(row.owner, tag, Number(lastInsertRowid));
    // Other processes learn of leased codes by the mark; anything else may be cached as missing somewhere.
    if (!leased) noteChange(link.createdAt, link.code, claim);
    remember(idempotency, 'created', link);
    keepTrace(trace);
    return { kind: 'inserted' };
  };

  return {
    insertLinks: (items: readonly InsertItem[]): InsertOutcome[] => items.map(insertOne),

    replaceLink({
      link,
      trace,
    }: {
      link: Link;
      trace: LinkTrace | undefined;
    }): 'replaced' | 'conflict' | 'missing' {
      const before = tagsOf.get(link.code);
      const {
        code,
        owner: _owner,
        custom: _custom,
        created_at: _created,
        used_clicks: _used,
        ...columns
      } = rowOf(link);
      const updated = updateLink.get({ ...columns, code, seen: link.version - 1 });
      if (updated === null) return linkExists.get(link.code) === null ? 'missing' : 'conflict';
      for (const tag of parseTags(before?.tags)) removeTag.run(updated.owner, tag, updated.id);
      for (const tag of link.tags) addTag.run(updated.owner, tag, updated.id);
      noteChange(link.updatedAt, link.code);
      keepTrace(trace);
      return 'replaced';
    },

    useClick({ code, at }: { code: string; at: number }): boolean {
      const counted = countClick.get(code);
      if (counted?.isLast === 1) noteChange(at, code);
      return counted !== null;
    },

    leaseRange({ length, ...request }: LeaseRequest & { length: number }): RangeLease {
      const { from, to } = nextRange(spansOf.all(length), request);
      const claimed = claimsWithin.all(length, from, to).map(({ id }) => id);
      writeMark.run(length, request.first, to);
      dropClaims.run(length, request.first, to);
      return { from, to, claimed };
    },

    purgeExpired({ expiredBefore, limit }: { expiredBefore: number; limit: number }): number {
      const links = expiredLinks.all(expiredBefore, limit);
      for (const { id, owner, custom, guards_code, tags } of links) {
        for (const tag of parseTags(tags)) removeTag.run(owner, tag, id);
        // Most generated codes are protected from reuse by the mark or their claim; others need their row.
        if (custom === 1 || guards_code === 1) emptyLink.run(id);
        else removeLink.run(id);
      }
      return links.length;
    },

    prune: ({ answersBefore, changesBefore, limit }: PruneAge & { limit: number }): number =>
      dropAnswers.run(answersBefore, limit).changes + dropChanges.run(changesBefore, limit).changes,

    installationSecret(candidate: Uint8Array): Uint8Array {
      writeInstallation.run('secret', candidate);
      return readInstallation.get('secret')!.value;
    },
  };
}

export type LinkOperations = ReturnType<typeof linkOperations>;

function parseTags(tags: string | null | undefined): string[] {
  return tags === null || tags === undefined ? [] : (JSON.parse(tags) as string[]);
}
