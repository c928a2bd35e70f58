/**
 * Links in one SQLite file. Reads run here, on the request thread, from a read-only connection, except reads of single
 * links while the disk is slow (reads.ts); writes go to the writer thread and share its transactions. Reads never wait
 * for writes.
 */
import type { Database } from 'bun:sqlite';
import { yieldToEventLoop } from '../../../base/clock.ts';
import type { SqliteWriter } from '../../../engines/sqlite/writer.ts';
import { type EventRow, eventOf } from '../../outbox.ts';
import type { ChangePage, InsertOutcome, LeasedSpan, LinkStore } from '../../store.ts';
import { recordedInserts, type TraceWrites, withTrace } from '../../trace.ts';
import { countLinks, listByDomain, listLinks, type SqlLists } from '../sql-lists.ts';
import { type LinkOperations, packInserts } from './operations.ts';
import { createFinder, type PatientReads, prepareFindByUrl, prepareRecall } from './reads.ts';

/** Inserts that are packed before other requests run. All of them are one transaction: a page that many change is written once. */
const itemsPerTurn = 2_000;

const inserted: InsertOutcome = { kind: 'inserted' };

const behindScheme = (url: string): string => `substr(${url}, instr(${url}, '//') + 2)`;

const sqlLists = (reader: Database): SqlLists => ({
  query: async <Row>(text: string, values: readonly unknown[]) =>
    reader.query<Row, (string | number)[]>(text.replaceAll('$', '?')).all(...(values as (string | number)[])),
  columns: 'links.id',
  links: 'seen CROSS JOIN links AS link ON link.id = seen.id',
  linksBy: index => `links INDEXED BY ${index}`,
  position: 'instr',
  authorityOf: url => `substr(${behindScheme(url)}, 1, instr(${behindScheme(url)}, '/') - 1)`,
});

export function createSqliteStore(
  reader: Database,
  writer: SqliteWriter<LinkOperations>,
  patient?: PatientReads,
  traceWrites: TraceWrites = async () => [],
): LinkStore {
  const findByUrl = prepareFindByUrl(reader);
  const spansOf = reader.query<LeasedSpan, [number]>(
    'SELECT first, mark FROM ranges WHERE length = ? ORDER BY first',
  );
  const claimsOf = reader.query<{ id: number }, [number]>(
    'SELECT id FROM claims WHERE length = ? ORDER BY id',
  );
  const changesAfter = reader.query<
    { seq: number; code: string; claim_length: number | null; claim_id: number | null },
    [number, number]
  >('SELECT seq, code, claim_length, claim_id FROM changes WHERE seq > ? ORDER BY seq LIMIT ?');
  // AUTOINCREMENT keeps the newest number ever issued even when every entry has been pruned.
  const changeBounds = reader.query<{ last: number | null; oldest: number | null }, []>(`
    SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'changes') AS last,
      (SELECT min(seq) FROM changes) AS oldest`);
  const eventsAfter = reader.query<EventRow, [number, number]>(
    'SELECT seq, type, link FROM outbox WHERE seq > ? ORDER BY seq LIMIT ?',
  );
  const dataVersion = reader.query<{ data_version: number }, []>('PRAGMA data_version');
  const lists = sqlLists(reader);
  const recall = prepareRecall(reader);

  return {
    find: createFinder(reader, patient),
    sharesCommits: true,
    async insert(items) {
      const packed: string[] = [];
      for (let from = 0; from < items.length; from += itemsPerTurn) {
        if (from > 0) await yieldToEventLoop();
        const slice = items.slice(from, from + itemsPerTurn);
        packed.push(packInserts(await recordedInserts(traceWrites, slice)));
      }
      const outcomes = await writer.run('insertLinks', packed, items.length);
      return outcomes ?? new Array<InsertOutcome>(items.length).fill(inserted);
    },
    replace: (link, trace, event) =>
      withTrace(traceWrites, trace, records => writer.run('replaceLink', { link, records, event })),
    useClick: (code, at) => writer.run('useClick', { code, at }),
    recall: async record => recall(record),

    findByUrl: async (ownerId, longUrl, now) => findByUrl(ownerId, longUrl, now),
    list: query => listLinks(lists, query),
    count: query => countLinks(lists, query),
    listByDomain: query => listByDomain(lists, query),

    leaseRange: (length, size, limit, first = 0) => writer.run('leaseRange', { length, size, limit, first }),
    spans: async length => spansOf.all(length),
    claims: async length => claimsOf.all(length).map(({ id }) => id),

    async changes(afterSeq, limit): Promise<ChangePage> {
      const bounds = changeBounds.get();
      const lastSeq = bounds?.last ?? 0;
      const oldestSeq = bounds?.oldest ?? lastSeq + 1;
      const changes = changesAfter.all(afterSeq, limit).map(({ seq, code, claim_length, claim_id }) => ({
        seq,
        code,
        claim:
          claim_length === null || claim_id === null ? undefined : { length: claim_length, id: claim_id },
      }));
      const endSeq = changes.length < limit ? lastSeq : (changes.at(-1)?.seq ?? afterSeq);
      const gap = afterSeq < lastSeq && oldestSeq > afterSeq + 1;
      return { changes, lastSeq, endSeq, resumeSeq: endSeq, gap };
    },
    events: async (afterSeq, limit) => eventsAfter.all(afterSeq, limit).map(eventOf),
    removeEvents: seqs => writer.run('removeEvents', seqs),
    changeToken: () => dataVersion.get()?.data_version ?? 0,

    purgeExpired: (expiredBefore, limit) => writer.run('purgeExpired', { expiredBefore, limit }, limit),
    prune: (age, limit) => writer.run('prune', { ...age, limit }, limit),
    installationSecret: candidate => writer.run('installationSecret', candidate),
    async close() {
      patient?.thread.close();
      await writer.close();
      reader.close();
    },
  };
}
