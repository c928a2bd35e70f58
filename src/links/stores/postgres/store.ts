/**
 * Links in Postgres. Creates share transactions, edits do, and reads by code share statements; everything else is a
 * statement or a transaction of its own. Any number of processes may use one database: what they must not do at the same time is kept apart by the
 * database itself, never by this process.
 */
import type { Clock } from '../../../base/clock.ts';
import { GroupWriter } from '../../../engines/postgres/group-writer.ts';
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import { SharedReads } from '../../../engines/postgres/shared-reads.ts';
import { codePattern, type Link } from '../../link.ts';
import type { InsertItem, InsertOutcome, LinkStore } from '../../store.ts';
import { type LinkRow, linkOf } from '../rows.ts';
import { answerName, readAnswers, stillValid } from './answers.ts';
import { linkColumns } from './columns.ts';
import { readChanges } from './feed.ts';
import { findByUrls } from './find-by-url.ts';
import { createInserter } from './insert.ts';
import type { KeepReviews } from './insert-batch.ts';
import { countLinks, listLinks } from './list.ts';
import { listByDomain } from './list-by-domain.ts';
import { leaseRange, readSpans } from './ranges.ts';
import { type Edit, type EditOutcome, replaceLinks } from './replace.ts';
import { prune, purgeExpired } from './sweep.ts';
import { useClick } from './use-click.ts';

export interface PostgresStoreOptions {
  readonly clock: Clock;
  readonly keepReviews: KeepReviews;
}

/** While one transaction waits for the disk the next is being sent; more would only make them smaller. */
const insertsAtOnce = 2;
/** Edits wait for each other in the feed, so a second one could only wait for the first. */
const editsAtOnce = 1;

const byCodes = `SELECT ${linkColumns} FROM links WHERE code = ANY($1)`;
const named = { name: 'find-links' };

export function createPostgresStore(
  postgres: Postgres,
  { clock, keepReviews }: PostgresStoreOptions,
): LinkStore {
  const { near } = postgres;
  const inserts = new GroupWriter<InsertItem, InsertOutcome>({
    clock,
    transactionsMax: insertsAtOnce,
    write: createInserter(postgres, keepReviews),
  });
  const edits = new GroupWriter<Edit, EditOutcome>({
    clock,
    transactionsMax: editsAtOnce,
    write: (batch, deadlineMs) =>
      postgres.transaction(tx => replaceLinks(tx, batch, keepReviews), { deadlineMs }),
  });
  const finds = new SharedReads<Link>({
    clock,
    read: async (codes, deadlineMs) =>
      linksByCode(await postgres.read<LinkRow>(byCodes, [codes], { ...named, deadlineMs })),
  });
  const nearFinds = new SharedReads<Link>({
    clock,
    read: async codes => linksByCode((await near?.read<LinkRow>(byCodes, [codes], named)) ?? []),
  });

  return {
    find: async code => (codePattern.test(code) ? finds.get(code) : undefined),
    ...(near !== undefined && {
      findNear: async (code: string) => (codePattern.test(code) ? nearFinds.get(code) : undefined),
      isNearUsable: () => near.isUsable(),
    }),
    insert: items => inserts.write(items),
    replace: async (link, trace) => (await edits.write([{ link, trace }]))[0]!,
    useClick: (code, at) => useClick(postgres, code, at),
    recall: async record =>
      stillValid((await readAnswers(postgres.read, [record])).get(answerName(record)), record),

    findByUrl: async (ownerId, longUrl, now) =>
      (await findByUrls(postgres.read, [{ ownerId, longUrl, now }]))[0],
    list: query => listLinks(postgres, query),
    count: query => countLinks(postgres, query),
    listByDomain: query => listByDomain(postgres, query),

    leaseRange: (length, size, limit, first = 0) => leaseRange(postgres, length, { size, limit, first }),
    spans: async length => (await readSpans(postgres.read, [{ length }])).get(length) ?? [],
    async claims(length) {
      const text = 'SELECT id FROM claims WHERE length = $1 ORDER BY id';
      return (await postgres.read<{ id: number }>(text, [length])).map(({ id }) => id);
    },

    changes: (afterSeq, limit) => readChanges(postgres, afterSeq, limit),

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

const linksByCode = (rows: readonly LinkRow[]): Map<string, Link> =>
  new Map(rows.map(row => [row.code, linkOf(row)]));
