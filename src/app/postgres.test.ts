import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../test/kit/engines/describe-with-engine.ts';
import { sharedPostgres, startPostgres } from '../../test/kit/engines/postgres.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { openPostgresStores } from './postgres.ts';
import type { Stores } from './stores.ts';

const options = { clock: systemClock, random: systemRandom };
const freshDatabase = async (): Promise<string> => (await sharedPostgres()).freshDatabase();
const closeAll = async (opened: readonly Stores[]): Promise<void> => {
  await Promise.all(opened.map(({ links }) => links.close()));
};

describeWithEngine('postgres', 'the stores on Postgres', () => {
  test('are made once when several processes start at once on an empty database', async () => {
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

  test('are not waited for where there is no such database, and the line that says so has no secret', async () => {
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
