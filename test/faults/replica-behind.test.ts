/** A read replica that falls behind: a changed link never leads to its old destination. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Client } from 'pg';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { type PostgresEngine, startPostgres } from '../kit/engines/postgres.ts';
import { follow, metricOf } from '../kit/follow.ts';
import { startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';

describeWithEngine(
  'postgres',
  'with a replica that has stopped following',
  () => {
    let postgres: PostgresEngine;
    let terse: TerseProcess;
    beforeAll(async () => {
      postgres = await startPostgres({ replica: true });
      terse = await startTerseProcess({
        env: { TERSE_LINKS: `${postgres.url}?replica=${postgres.replica!.address}` },
      });
    });
    afterAll(async () => {
      await terse?.stop();
      await postgres?.stop();
    });

    test('an edited link leads to where it leads now, at once and while the replica is behind', async () => {
      const call = callerOf(terse.url);
      const before = 'https://example.com/before';
      const after = 'https://example.com/after';
      const { shortCode: code } = (await call('POST', '/api/v1/links', { body: { longUrl: before } })).body;
      expect(await follow(terse.url, code)).toEqual({ status: 302, location: before });

      const replica = new Client({ connectionString: postgres.replica!.url });
      await replica.connect();
      await replica.query('SELECT pg_wal_replay_pause()');
      await replica.end();
      expect((await call('PATCH', `/api/v1/links/${code}`, { body: { longUrl: after } })).status).toBe(200);
      const endMs = performance.now() + 3_000;
      while (performance.now() < endMs) {
        expect(await follow(terse.url, code)).toEqual({ status: 302, location: after });
        await Bun.sleep(50);
      }
      // Otherwise the replica was never asked, and nothing was tested.
      expect(await metricOf(terse.url, 'terse_replica_reads_total')).toBeGreaterThan(0);
    });
  },
  { own: true },
);
