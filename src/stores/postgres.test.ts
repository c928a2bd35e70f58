import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../test/kit/engines/describe-with-engine.ts';
import { sharedPostgres, startPostgres } from '../../test/kit/engines/postgres.ts';
import { until } from '../../test/kit/until.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { openPostgres } from '../engines/postgres/postgres.ts';
import { formerSchema } from './fake-former-schema.ts';
import { openPostgresStores } from './postgres.ts';
import type { Stores } from './stores.ts';

const options = { clock: systemClock, random: systemRandom };
const freshDatabase = async (): Promise<string> => (await sharedPostgres()).freshDatabase();
const closeAll = async (opened: readonly Stores[]): Promise<void> => {
  await Promise.all(opened.map(({ links }) => links.close()));
};

describeWithEngine('postgres', 'the stores on Postgres', () => {
  test('are created once when several processes start at once on an empty database', async () => {
    const url = await freshDatabase();
    const opened = await Promise.all(Array.from({ length: 6 }, () => openPostgresStores(url, options)));
    try {
      const secrets = await Promise.all(
        opened.map(({ links }, n) => links.installationSecret(new Uint8Array(32).fill(n))),
      );
      expect(new Set(secrets.map(secret => secret.join())).size).toBe(1);
      for (const { blockEntries } of opened) expect(await blockEntries.revision()).toBe(0);
    } finally {
      await closeAll(opened);
    }
  });

  test('are opened although the server fails while former tables are imported', async () => {
    const url = await freshDatabase();
    const postgres = openPostgres(url, { clock: systemClock });
    for (const statement of formerSchema('postgres')) await postgres.query(statement);
    await closeAll([await openPostgresStores(url, options)]);
    const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = postgres.transaction(
      async tx => {
        await tx.query('LOCK TABLE audit');
        locked.resolve();
        await released.promise;
      },
      { deadlineMs: 60_000 },
    );
    await locked.promise;
    const opening = openPostgresStores(url, options);
    opening.catch(() => undefined);
    const isEnded = (): Promise<unknown[]> =>
      postgres.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
    await until('the import has lost its connection', async () => (await isEnded()).length > 0);
    released.resolve();
    await holding;
    await closeAll([await opening]);
    await postgres.close();
  });

  test('are not waited for if the database does not exist, and the error contains no secret', async () => {
    const url = new URL(await freshDatabase());
    url.pathname = '/nowhere';
    url.password = 'hunter2';
    const failure = await openPostgresStores(url.href, options).catch((error: Error) => error.message);
    expect(failure).toBe(`Postgres at ${url.host}/nowhere cannot be used: database "nowhere" does not exist`);
  });
});

describeWithEngine(
  'postgres',
  'a Postgres that starts later than Terse',
  () => {
    test('is waited for', async () => {
      const engine = await startPostgres({ fsync: false });
      try {
        await engine.kill();
        const opening = openPostgresStores(engine.url, options);
        await Bun.sleep(300);
        await engine.restart();
        const stores = await opening;
        expect(await stores.accounts.findAccount('nobody')).toBeUndefined();
        await closeAll([stores]);
      } finally {
        await engine.stop();
      }
    });
  },
  { own: true },
);
