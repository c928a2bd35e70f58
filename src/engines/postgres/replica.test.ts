import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import {
  type PostgresEngine,
  type PostgresServer,
  startPostgres,
} from '../../../test/kit/engines/postgres.ts';
import { until } from '../../../test/kit/until.ts';
import { systemClock } from '../../base/clock.ts';
import { openPostgres, type Postgres } from './postgres.ts';

/** For what has nothing to do with the deadlines of the product. */
const patient = { deadlineMs: 30_000 };

describeWithEngine(
  'postgres',
  'a read replica',
  () => {
    let engine: PostgresEngine;
    let replica: PostgresServer;
    let postgres: Postgres;
    let url: string;

    beforeAll(async () => {
      engine = await startPostgres({ replica: true });
      replica = engine.replica!;
      url = await engine.freshDatabase();
    });
    afterAll(() => engine.stop());
    beforeEach(async () => {
      postgres = openPostgres(`${url}?replica=${replica.address}`, { clock: systemClock });
      await postgres.query('CREATE TABLE IF NOT EXISTS words (word TEXT)');
      await postgres.query('TRUNCATE words');
    });
    afterEach(() => postgres.close());

    const nearWords = async (): Promise<string[] | undefined> =>
      (await postgres.near!.read<{ word: string }>('SELECT word FROM words'))?.map(({ word }) => word);

    /** Polls until it gets the expected answer; the bound only ends a run that hangs. */
    async function untilNear(isAwaited: (words: string[] | undefined) => boolean): Promise<void> {
      await until('the answer of the replica', async () => isAwaited(await nearWords()));
    }
    const isUsed = (words: string[] | undefined): boolean => words !== undefined;
    const isUnused = (words: string[] | undefined): boolean => words === undefined;

    test('is read from as soon as it is known to be fresh, and follows its primary', async () => {
      await untilNear(isUsed);
      await postgres.query("INSERT INTO words VALUES ('new')");
      await untilNear(words => words?.[0] === 'new');
    });

    test('stays in use while nothing is written', async () => {
      await untilNear(isUsed);
      // Longer than it may lag behind; replica-freshness.test.ts checks every moment of that.
      await Bun.sleep(5_500);
      // One read may miss its short deadline on a busy machine, but a replica that counts as late is never read.
      await untilNear(isUsed);
    });

    test('is passed over when it hangs, and used again afterwards', async () => {
      await untilNear(isUsed);
      replica.pause();
      try {
        expect(await nearWords()).toBeUndefined();
        expect(await nearWords()).toBeUndefined();
        expect(await postgres.read<object>('SELECT 1 AS one', [], patient)).toEqual([{ one: 1 }]);
      } finally {
        replica.resume();
      }
      await untilNear(isUsed);
    });

    test('is passed over while it is down, and used again when it is up', async () => {
      await untilNear(isUsed);
      await replica.kill();
      expect(await nearWords()).toBeUndefined();
      await replica.restart();
      await untilNear(isUsed);
    });

    test('is passed over when it stops following, although it answers', async () => {
      await untilNear(isUsed);
      const atReplica = openPostgres(replica.url, { clock: systemClock });
      try {
        await atReplica.query('SELECT pg_wal_replay_pause()');
        await postgres.query("INSERT INTO words VALUES ('unheard')");
        await untilNear(isUnused);
        expect(await postgres.read<object>('SELECT word FROM words', [], patient)).toEqual([
          { word: 'unheard' },
        ]);
      } finally {
        await atReplica.query('SELECT pg_wal_replay_resume()');
        await atReplica.close();
      }
      await untilNear(words => words?.[0] === 'unheard');
    });

    test('that is no replica at all is never read from', async () => {
      const mistaken = openPostgres(`${url}?replica=${engine.address}`, { clock: systemClock });
      await Bun.sleep(1_500);
      expect(await mistaken.near!.read('SELECT 1')).toBeUndefined();
      await mistaken.close();
    });
  },
  { own: true },
);
