/**
 * Links in Postgres. Creates share transactions, edits do, and reads by code share statements; everything else is a
 * statement or a transaction of its own. Any number of processes may use one database: the database itself, never this
 * process, prevents what they must not do at the same time.
 */
import { BatchedReads } from '../../../base/batched-reads.ts';
import type { Clock } from '../../../base/clock.ts';
import { Problem } from '../../../base/errors.ts';
import { GroupWriter } from '../../../engines/postgres/group-writer.ts';
import { keysPerStatement, type Postgres, readDeadlineMs } from '../../../engines/postgres/postgres.ts';
import { RecordConflict } from '../../../records/drivers/postgres.ts';
import { codePattern, type Link } from '../../link.ts';
import { type InsertOutcome, isPlain, type LinkStore } from '../../store.ts';
import { type RecordedInsert, recordedInserts, type TraceWrites, withTrace } from '../../trace.ts';
import { type LinkRow, linkOf } from '../rows.ts';
import { countLinks, listByDomain, listLinks, type SqlLists } from '../sql-lists.ts';
import { type Edit, type EditOutcome, prune, purgeExpired, replaceLinks, useClick } from './edit.ts';
import { readChanges, readEvents } from './feed.ts';
import { InsertBatch, insertRows } from './insert-batch.ts';
import { answerName, findByUrls, readAnswers, stillValid } from './lookups.ts';
import { leaseRange, readSpans } from './ranges.ts';
import { linkColumns } from './schema.ts';

export interface PostgresStoreOptions {
  readonly clock: Clock;
  readonly traceWrites?: TraceWrites;
}

/** While one transaction waits for the disk the next is being sent; more would only make them smaller. */
const insertsAtOnce = 2;
/** Edits wait for each other in the feed, so a second one could only wait for the first. */
const editsAtOnce = 1;

const byCodes = `SELECT ${linkColumns} FROM links WHERE code = ANY($1)`;
const named = { name: 'find-links' };

export function createPostgresStore(
  postgres: Postgres,
  { clock, traceWrites = async () => [] }: PostgresStoreOptions,
): LinkStore {
  const { near } = postgres;
  const lists: SqlLists = {
    query: (text, values) => postgres.read(text, values),
    columns: linkColumns,
    links: 'seen AS link',
    linksBy: () => 'links',
    position: 'strpos',
    authorityOf: url => `split_part(${url}, '/', 3)`,
  };
  const inserts = new GroupWriter<RecordedInsert, InsertOutcome>({
    clock,
    transactionsMax: insertsAtOnce,
    write: async (items, deadlineMs) => {
      if (!items.every(isPlain)) {
        return unlessConflict(
          items,
          // A new code has no records of its own; one that has was used before.
          { kind: 'taken' },
          part => postgres.transaction(tx => new InsertBatch(tx, part).run(), { deadlineMs }),
        );
      }
      const rows = items.map(item => ({ item }));
      const added = await insertRows(postgres.query, rows, deadlineMs);
      return items.map(({ link }) => ({ kind: added.delete(link.code) ? 'inserted' : 'taken' }));
    },
  });
  const edits = new GroupWriter<Edit, EditOutcome | 'stale'>({
    clock,
    transactionsMax: editsAtOnce,
    write: (batch, deadlineMs) =>
      unlessConflict<Edit, EditOutcome | 'stale'>(batch, 'stale', part =>
        postgres.transaction(tx => replaceLinks(tx, part), { deadlineMs }),
      ),
  });
  const batched = { clock, keysMax: keysPerStatement, deadlineMs: readDeadlineMs };
  const finds = new BatchedReads<LinkRow>({
    ...batched,
    read: async (codes, deadlineMs) =>
      rowsByCode(await postgres.read<LinkRow>(byCodes, [codes], { ...named, deadlineMs })),
  });
  const nearFinds = new BatchedReads<LinkRow>({
    ...batched,
    read: async codes => rowsByCode((await near?.read<LinkRow>(byCodes, [codes], named)) ?? []),
  });
  /** Decoded here and not with the others, because a row that cannot be must not fail them. */
  const findIn = async (reads: BatchedReads<LinkRow>, code: string): Promise<Link | undefined> => {
    const row = codePattern.test(code) ? await reads.get(code) : undefined;
    return row && linkOf(row);
  };

  return {
    find: code => findIn(finds, code),
    ...(near !== undefined && {
      findNear: (code: string) => findIn(nearFinds, code),
      isNearUsable: () => near.isUsable(),
    }),
    insert: async items => inserts.write(await recordedInserts(traceWrites, items)).catch(changedMeanwhile),
    replace: (link, trace, event) =>
      withTrace(traceWrites, trace, async records => (await edits.write([{ link, records, event }]))[0]!),
    useClick: (code, at) => useClick(postgres, code, at),
    async confirmCommits() {
      // A backend that is terminated while its commit waits for a synchronous standby commits without it. Only a
      // transaction that writes waits for the standby, and then for everything that was written before it.
      await postgres.query("SELECT pg_logical_emit_message(true, 'terse', 'confirm commits')");
    },
    recall: async record =>
      stillValid((await readAnswers(postgres.read, [record])).get(answerName(record)), record),

    findByUrl: async (ownerId, longUrl, now) =>
      (await findByUrls(postgres.read, [{ ownerId, longUrl, now }]))[0],
    list: query => listLinks(lists, query),
    count: query => countLinks(lists, query),
    listByDomain: query => listByDomain(lists, query),

    leaseRange: (length, size, limit, first = 0) => leaseRange(postgres, length, { size, limit, first }),
    spans: async length => (await readSpans(postgres.read, [{ length }])).get(length) ?? [],
    async claims(length) {
      const text = 'SELECT id FROM claims WHERE length = $1 ORDER BY id';
      return (await postgres.read<{ id: number }>(text, [length])).map(({ id }) => id);
    },

    changes: (afterSeq, limit) => readChanges(postgres, afterSeq, limit),

    events: (afterSeq, limit) => readEvents(postgres, afterSeq, limit),
    async removeEvents(seqs) {
      await postgres.query('DELETE FROM outbox WHERE seq = ANY($1)', [seqs]);
    },

    purgeExpired: (expiredBefore, limit) => purgeExpired(postgres, expiredBefore, limit),
    prune: (age, limit) => prune(postgres, age, limit),

    async installationSecret(candidate) {
      const text = "INSERT INTO installation (name, value) VALUES ('secret', $1) ON CONFLICT DO NOTHING";
      await postgres.query(text, [Buffer.from(candidate)]);
      const [row] = await postgres.read<{ value: Buffer }>(
        "SELECT value FROM installation WHERE name = 'secret'",
      );
      return new Uint8Array(row!.value);
    },
    async close() {
      await Promise.all([inserts.close(), edits.close()]);
      await postgres.close();
    },
  };
}

const rowsByCode = (rows: readonly LinkRow[]): Map<string, LinkRow> =>
  new Map(rows.map(row => [row.code, row]));

/** The records of a single item were changed by others meanwhile; of several, each call is written alone. */
async function unlessConflict<Item, Outcome>(
  batch: readonly Item[],
  rejected: Outcome,
  write: (part: readonly Item[]) => Promise<Outcome[]>,
): Promise<Outcome[]> {
  try {
    return await write(batch);
  } catch (error) {
    if (!(error instanceof RecordConflict) || batch.length > 1) throw error;
    return [rejected];
  }
}

/** Of a call with several items nothing was kept. */
function changedMeanwhile(error: unknown): never {
  if (!(error instanceof RecordConflict)) throw error;
  throw new Problem('store_unavailable', {
    detail: 'Something that belongs to these links was changed meanwhile.',
    outcome: 'none',
  });
}
