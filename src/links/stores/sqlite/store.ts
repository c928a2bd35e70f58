/**
 * Links in one SQLite file. Reads run here, on the request thread, from a connection that cannot write, but for those of
 * single links while the disk is slow (find.ts); writes go to the writer thread and share its transactions. Reads never
 * wait for writes.
 */
import type { Database } from 'bun:sqlite';
import type { SqliteWriter } from '../../../engines/sqlite/writer.ts';
import type { ChangePage, InsertItem, LeasedSpan, LinkStore } from '../../store.ts';
import { createFinder, type PatientReads } from './find.ts';
import { prepareFindByUrl } from './find-by-url.ts';
import { createLister } from './list.ts';
import { createDomainLister } from './list-by-domain.ts';
import type { LinkOperations } from './operations.ts';
import { prepareRecall } from './recall.ts';

export function createSqliteStore(
  reader: Database,
  writer: SqliteWriter<LinkOperations>,
  patient?: PatientReads,
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
  // AUTOINCREMENT keeps the newest number ever given even when every entry has been pruned.
  const changeBounds = reader.query<{ last: number | null; oldest: number | null }, []>(`
    SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'changes') AS last,
      (SELECT min(seq) FROM changes) AS oldest`);
  const dataVersion = reader.query<{ data_version: number }, []>('PRAGMA data_version');
  const { list, count } = createLister(reader);
  const listByDomain = createDomainLister(reader);
  const recall = prepareRecall(reader);

  return {
    find: createFinder(reader, patient),
    insert: items => writer.run('insertLinks', items as InsertItem[], items.length),
    replace: (link, trace) => writer.run('replaceLink', { link, trace }),
    useClick: (code, at) => writer.run('useClick', { code, at }),
    recall: async record => recall(record),

    findByUrl: async (ownerId, longUrl, now) => findByUrl(ownerId, longUrl, now),
    list,
    count,
    listByDomain: async query => listByDomain(query),

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
      const resumeSeq = changes.length < limit ? lastSeq : (changes.at(-1)?.seq ?? afterSeq);
      return { changes, lastSeq, resumeSeq, gap: afterSeq < lastSeq && oldestSeq > afterSeq + 1 };
    },
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
