/**
 * Everything that changes links, run on the writer thread inside its shared transaction. The writer holds the
 * database's write lock throughout, so "read the spans, then insert" is one atomic step here.
 */
import type { Database } from 'bun:sqlite';
import { prepareRecordWrites } from '../../../records/drivers/sqlite.ts';
import type { RecordWrite } from '../../../records/record-store.ts';
import { isLeased, type LeaseRequest, nextRange } from '../../leased-spans.ts';
import { isSameLink, type Link } from '../../link.ts';
import type { EventType } from '../../outbox.ts';
import {
  type Change,
  type IdempotencyRecord,
  type InsertItem,
  type InsertOutcome,
  isPlain,
  type LeasedSpan,
  type PruneAge,
  type RangeLease,
  type RememberedAnswer,
} from '../../store.ts';
import type { RecordedInsert } from '../../trace.ts';
import {
  type ColumnValue,
  editedColumns,
  erasing,
  insertedColumns,
  insertedValues,
  ownerColumn,
  rowOf,
  statusNumber,
  tagsIn,
} from '../rows.ts';
import { answerText, prepareFind, prepareFindByUrl, prepareRecall } from './reads.ts';

export interface Edit {
  readonly link: Link;
  readonly records: Records;
  readonly event: EventType | undefined;
}

type Records = readonly RecordWrite[] | undefined;

type Bindings = Record<string, ColumnValue>;

const inserted: InsertOutcome = { kind: 'inserted' };
const active = statusNumber('active');
const quarantined = statusNumber('quarantined');

export function linkOperations(database: Database) {
  const writeRecords = prepareRecordWrites(database);
  const insertLink = database.query<unknown, ColumnValue[]>(`
    INSERT INTO links (${insertedColumns.join(', ')}) VALUES (${insertedColumns.map(() => '?').join(', ')})
    ON CONFLICT (code) DO NOTHING`);
  const removeLink = database.query('DELETE FROM links WHERE id = ?');
  const updateLink = database.query<{ id: number; owner: string }, [Bindings]>(`
    UPDATE links SET ${editedColumns.map(name => `${name} = $${name}`).join(', ')}
    WHERE code = $code AND version = $seen RETURNING id, owner`);
  const countClick = database.query<{ isLast: number | null }, [string]>(`
    UPDATE links SET used_clicks = used_clicks + 1
    WHERE code = ? AND status IN (${active}, ${quarantined}) AND (max_clicks IS NULL OR used_clicks < max_clicks)
    RETURNING used_clicks = max_clicks AS isLast`);

  const addTag = database.query('INSERT OR IGNORE INTO link_tags (owner, tag, link_id) VALUES (?, ?, ?)');
  const removeTag = database.query('DELETE FROM link_tags WHERE owner = ? AND tag = ? AND link_id = ?');
  const stateOf = database.query<{ tags: string | null; version: number }, [string]>(
    'SELECT tags, version FROM links WHERE code = ?',
  );

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
  const addEvent = database.query('INSERT INTO outbox (seq, type, link) VALUES (?, ?, ?)');
  const dropEvents = database.query('DELETE FROM outbox WHERE seq IN (SELECT value FROM json_each(?))');
  const recall = prepareRecall(database);
  const findByUrl = prepareFindByUrl(database);
  const find = prepareFind(database);
  const keepAnswer = database.query(
    'INSERT OR REPLACE INTO idempotency (owner, key, fingerprint, link, created_at) VALUES (?, ?, ?, ?, ?)',
  );
  const expiredLinks = database.query<
    { id: number; owner: string; custom: number; guards_code: number; tags: string | null },
    [number, number]
  >(
    'SELECT id, owner, custom, guards_code, tags FROM links WHERE expires_at < ? ORDER BY expires_at LIMIT ?',
  );
  const eraseLink = database.query(`UPDATE links SET ${erasing} WHERE id = ?`);
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

  const noteChange = (at: number, code: string, claim?: Change['claim']): number =>
    Number(addChange.run(at, code, claim?.length ?? null, claim?.id ?? null).lastInsertRowid);

  const remember = (
    record: IdempotencyRecord | undefined,
    outcome: RememberedAnswer['outcome'],
    link: Link,
  ): void => {
    if (record === undefined) return;
    const { ownerId, key, fingerprint, createdAt } = record;
    keepAnswer.run(ownerId, key, fingerprint, answerText({ outcome, link }), createdAt);
  };

  const foundInstead = (link: Link, idempotency: IdempotencyRecord | undefined): InsertOutcome => {
    remember(idempotency, 'found', link);
    return { kind: 'found', link };
  };

  const taken = ({ link, existing, idempotency }: InsertItem): InsertOutcome => {
    const holder = existing === 'same-code' ? find(link.code) : undefined;
    if (holder !== undefined && isSameLink(holder, link)) return foundInstead(holder, idempotency);
    return { kind: 'taken' };
  };

  const insertOne = (item: RecordedInsert, values: readonly ColumnValue[]): InsertOutcome => {
    const { link, leased, claim, existing, idempotency, records, event } = item;
    const earlier = idempotency && recall(idempotency);
    if (earlier !== undefined) return { kind: 'replayed', ...earlier };
    const found = existing === 'same-url' ? findByUrl(link.ownerId, link.longUrl, link.createdAt) : undefined;
    if (found !== undefined) return foundInstead(found, idempotency);
    if (claim !== undefined && isLeased(spansOf.all(claim.length), claim.id)) return taken(item);
    const { changes, lastInsertRowid } = insertLink.run(...values);
    if (changes === 0) return taken(item);
    if (claim !== undefined && addClaim.run(claim.length, claim.id).changes === 0) {
      // The link that claimed this id was purged after its expiry; the claim outlives it.
      removeLink.run(Number(lastInsertRowid));
      return { kind: 'taken' };
    }
    if (records !== undefined && !writeRecords(records, link.createdAt)) {
      // A new code has no records of its own; one that has was used before.
      removeLink.run(Number(lastInsertRowid));
      if (claim !== undefined) dropClaims.run(claim.length, claim.id, claim.id + 1);
      return { kind: 'taken' };
    }
    for (const tag of link.tags) addTag.run(ownerColumn(link.ownerId), tag, Number(lastInsertRowid));
    // Other processes learn of leased codes by the mark; any other code may be cached as missing somewhere.
    if (event !== undefined) {
      addEvent.run(noteChange(link.createdAt, link.code, claim), event, JSON.stringify(link));
    } else if (!leased) noteChange(link.createdAt, link.code, claim);
    remember(idempotency, 'created', link);
    return inserted;
  };

  return {
    /** Takes packed inserts. Undefined when all of them are inserted, as nearly always. */
    insertLinks(packed: readonly string[]): InsertOutcome[] | undefined {
      const outcomes: InsertOutcome[] = [];
      for (const text of packed) {
        for (const { values, item } of readInserts(text)) {
          if (item !== undefined) outcomes.push(insertOne(item, values));
          else outcomes.push(insertLink.run(...values).changes === 1 ? inserted : { kind: 'taken' });
        }
      }
      return outcomes.every(({ kind }) => kind === 'inserted') ? undefined : outcomes;
    },

    /** `stale` when the records were changed by others meanwhile. */
    replaceLink({ link, records, event }: Edit): 'replaced' | 'conflict' | 'missing' | 'stale' {
      const before = stateOf.get(link.code);
      if (before === null) return 'missing';
      const seen = before.version;
      if (seen !== link.version - 1) return 'conflict';
      if (records !== undefined && !writeRecords(records, link.updatedAt)) return 'stale';
      const row = rowOf(link);
      const edited = Object.fromEntries(editedColumns.map(name => [name, row[name]])) as Bindings;
      const updated = updateLink.get({ ...edited, code: link.code, seen })!;
      for (const tag of tagsIn(before.tags)) removeTag.run(updated.owner, tag, updated.id);
      for (const tag of link.tags) addTag.run(updated.owner, tag, updated.id);
      const seq = noteChange(link.updatedAt, link.code);
      if (event !== undefined) addEvent.run(seq, event, JSON.stringify(link));
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
        for (const tag of tagsIn(tags)) removeTag.run(owner, tag, id);
        // Most generated codes are protected from reuse by the mark or their claim; others need their row.
        if (custom === 1 || guards_code === 1) eraseLink.run(id);
        else removeLink.run(id);
      }
      return links.length;
    },

    prune: ({ answersBefore, changesBefore, limit }: PruneAge & { limit: number }): number =>
      dropAnswers.run(answersBefore, limit).changes + dropChanges.run(changesBefore, limit).changes,

    removeEvents(seqs: readonly number[]): void {
      dropEvents.run(JSON.stringify(seqs));
    },

    installationSecret(candidate: Uint8Array): Uint8Array {
      writeInstallation.run('secret', candidate);
      return readInstallation.get('secret')!.value;
    },
  };
}

export type LinkOperations = ReturnType<typeof linkOperations>;

/**
 * An insert on its way to the writer thread. A message that is one text costs a third of what the same objects cost, and
 * most inserts need nothing there but the values of their row: their outcome depends on nothing else.
 */
interface PackedInsert {
  readonly values: readonly ColumnValue[];
  /** Undefined for a plain link without tags. */
  readonly item?: RecordedInsert;
}

export function packInserts(items: readonly RecordedInsert[]): string {
  return JSON.stringify(
    items.map(item => {
      const values = insertedValues(item.link, item.leased || item.claim !== undefined);
      const isRow = isPlain(item) && item.records === undefined && item.link.tags.length === 0;
      return isRow ? values : { values, item };
    }),
  );
}

export function readInserts(packed: string): PackedInsert[] {
  const inserts = JSON.parse(packed) as (ColumnValue[] | PackedInsert)[];
  return inserts.map(insert => (Array.isArray(insert) ? { values: insert } : insert));
}
