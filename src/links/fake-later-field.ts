/**
 * Run by fields.test.ts in a copy of the sources whose table of fields has one more switch, `later`. Reads what the
 * unchanged sources wrote, writes links with the switch on, and prints what came back, as JSON.
 */
import { systemClock } from '../base/clock.ts';
import type { Dynamo } from '../engines/dynamodb/dynamodb.ts';
import { openPostgres } from '../engines/postgres/postgres.ts';
import { createBody, linkAnswer } from '../http/schemas.ts';
import { decodeValue, encodeRecord } from '../resolve/caches/redis.ts';
import { openEmbedded } from '../stores/embedded.ts';
import type { LinkValues } from './fields.ts';
import type { Link } from './link.ts';
import { decodeQueuedLink, encodeQueuedLink } from './queued-link.ts';
import type { LinkStore } from './store.ts';
import { insertItem, sampleLink } from './store-samples.ts';
import { answerItem, recall } from './stores/dynamodb/lookups.ts';
import { itemOf, type LinkRow, linkOf } from './stores/dynamodb/rows.ts';
import { linkMigrations } from './stores/postgres/schema.ts';
import { createPostgresStore } from './stores/postgres/store.ts';
import { createSqliteStore } from './stores/sqlite/store.ts';
import { linkCopy, linkOfCopy } from './transfer.ts';

/** What the unchanged sources wrote about the same link, each in its form. */
export interface OlderRecords {
  readonly dataFolder?: string;
  readonly postgresUrl?: string;
  readonly queued: string;
  readonly cached: string;
  readonly item: object;
  readonly answer: object;
  readonly copy: object;
}

/** Whose answer DynamoDB remembers. */
export const request = { ownerId: 'acc_1', key: 'k', fingerprint: 'f', createdAt: 1, validAfter: 0 };

if (import.meta.main) {
  const older = JSON.parse(process.argv[2]!) as OlderRecords;
  const switchOf = (link: object | undefined) => (link as { later?: boolean } | undefined)?.later;
  const on = { later: true } as unknown as Partial<LinkValues>;
  const made = sampleLink('made', on);
  const options = { place: 'p', guards: false, expiryGraceMs: 0 };

  const inStore = async (store: LinkStore) => {
    const before = switchOf(await store.find('older'));
    const outcomes = await store.insert([insertItem(made), insertItem(sampleLink('off'))]);
    await store.replace({ ...sampleLink('older', on), version: 2 });
    const found = await Promise.all(['made', 'off', 'older'].map(code => store.find(code)));
    await store.close();
    return { before, inserted: outcomes.map(({ kind }) => kind), after: found.map(switchOf) };
  };
  const stores = {
    sqlite: async () => {
      const { reader, writer } = await openEmbedded(older.dataFolder!);
      return inStore(createSqliteStore(reader, writer));
    },
    postgres: async () => {
      const { runMigrations } = await import('../engines/postgres/migrations.ts');
      const postgres = openPostgres(`${older.postgresUrl}?pool=2`, { clock: systemClock });
      const done = await runMigrations(postgres, [linkMigrations]);
      const store = createPostgresStore(postgres, { clock: systemClock });
      return { done, ...(await inStore(store)) };
    },
  };
  const back = (link: Link, value: string) => switchOf(decodeValue(link.code, value)?.link);
  const recalled = (answer: object) => recall({ get: async () => answer } as unknown as Dynamo, request);
  const results = {
    store: older.dataFolder === undefined ? await stores.postgres() : await stores.sqlite(),
    older: [
      switchOf(decodeQueuedLink(older.queued)),
      back(sampleLink('older'), older.cached),
      switchOf(linkOf(older.item as LinkRow)),
      switchOf((await recalled(older.answer))?.link),
      switchOf(linkOfCopy(older.copy as ReturnType<typeof linkCopy>)),
    ],
    newer: [
      switchOf(decodeQueuedLink(encodeQueuedLink(made))),
      back(made, `1 1 1 ${encodeRecord(made)}`),
      switchOf(linkOf(itemOf(made, options) as unknown as LinkRow)),
      switchOf((await recalled(answerItem(request, 'created', made, 0).put))?.link),
      switchOf(linkOfCopy(linkCopy(made, true))),
    ],
    // Equal to what an older version writes, for as long as the switch is off.
    same: {
      cached: `1 1 1 ${encodeRecord(sampleLink('older'))}` === older.cached,
      copy: JSON.stringify(linkCopy(sampleLink('older'), true)) === JSON.stringify(older.copy),
    },
    api: ['later' in createBody.shape, 'later' in linkAnswer.shape],
  };
  process.stdout.write(`${JSON.stringify(results)}\n`);
}
