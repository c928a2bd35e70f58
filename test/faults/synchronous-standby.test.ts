/**
 * Postgres with a standby that confirms every commit: while it does not, nothing is acknowledged; and when the primary
 * is lost, every link that was acknowledged is on the standby, so that no alias can be claimed a second time. That
 * holds also for a commit that Postgres finishes without the standby because its backend was terminated.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { Client } from 'pg';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { type PostgresEngine, startPostgres } from '../kit/engines/postgres.ts';
import { expectSafe, expectSafeStatus } from '../kit/expect-safe.ts';
import { follow } from '../kit/follow.ts';
import { type NetworkLink, startNetworkLink } from '../kit/network-link.ts';
import { heavyTestMaxMs } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(heavyTestMaxMs);

describeWithEngine(
  'postgres',
  'a synchronous standby',
  () => {
    let postgres: PostgresEngine;
    let toPrimary: NetworkLink;
    let replication: NetworkLink;
    let terse: TerseProcess;
    const acknowledged: string[] = [];

    const asked = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
      const client = new Client({ connectionString: url });
      client.on('error', () => undefined);
      await client.connect();
      try {
        return (await client.query(text)).rows;
      } finally {
        await client.end().catch(() => undefined);
      }
    };
    const links = '/api/v1/links';
    const longUrl = 'https://example.com/there';
    const claim = async (customAlias: string = crypto.randomUUID(), to = longUrl): Promise<number> => {
      const body = { longUrl: to, customAlias };
      const { status } = await callerOf(terse.url)('POST', links, { body });
      if (status === 201) acknowledged.push(customAlias);
      return status;
    };
    const standbyState = async (): Promise<unknown> =>
      (await asked(postgres.url, 'SELECT sync_state FROM pg_stat_replication'))[0]?.sync_state;

    const terminateWaiting =
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'";
    const changed = async (url: string): Promise<number> =>
      (await asked(url, "SELECT code FROM links WHERE code = 'terminated' OR version > 1")).length;

    beforeAll(async () => {
      postgres = await startPostgres({
        replica: true,
        async replicaThrough(address) {
          replication = await startNetworkLink(address);
          return replication.address;
        },
      });
      // As docs/operations/postgres.md says.
      await asked(postgres.url, "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'");
      await asked(postgres.url, 'SELECT pg_reload_conf()');
      await until('the standby confirms', async () => (await standbyState()) === 'quorum');
      toPrimary = await startNetworkLink(postgres.address);
      const through = new URL(postgres.url);
      through.host = toPrimary.address;
      terse = await startTerseProcess({ env: { TERSE_LINKS: through.href, TERSE_LOG_LEVEL: 'silent' } });
    });
    afterAll(async () => {
      await terse?.kill();
      await toPrimary?.stop();
      await replication?.stop();
      await postgres?.stop();
    });

    test('that hangs blocks acknowledgements of writes, and no redirects', async () => {
      expect(await claim('kept')).toBe(201);
      postgres.replica!.pause();
      expect(await Promise.all(Array.from({ length: 20 }, () => claim()))).toEqual(Array(20).fill(503));
      expect((await follow(terse.url, 'kept')).status).toBe(302);
      postgres.replica!.resume();
      await until('writes are acknowledged again', async () => (await claim()) === 201);
    });

    test('that is cut off is waited for also by a write whose backend is terminated', async () => {
      expect([await claim('edited'), await claim('killed')]).toEqual([201, 201]);
      replication.cut();
      const call = callerOf(terse.url);
      const writes = {
        create: () => call('POST', links, { body: { longUrl, customAlias: 'terminated' } }),
        edit: () => call('PATCH', `${links}/edited`, { body: { title: 'New' } }),
        kill: () => call('DELETE', `${links}/killed`),
      };
      for (const [index, [name, write]] of Object.entries(writes).entries()) {
        const answer = write();
        // From then on it is visible on the primary, but not safe yet.
        await until(`the ${name} is committed without the standby`, async () => {
          await asked(postgres.url, terminateWaiting);
          return (await changed(postgres.url)) === index + 1;
        });
        const { status, body } = await answer;
        expect([name, status, body.outcome]).toEqual([name, 503, 'unknown']);
      }
      expectSafe(await changed(postgres.replica!.url)).toBe(0);
      replication.mend();
      await until('writes are acknowledged again', async () => (await claim()) === 201);
      await until('the standby has all of it', async () => (await changed(postgres.replica!.url)) === 3);
    });

    test('has every alias that was acknowledged when the primary is lost, so none is claimed twice', async () => {
      let isLost = false;
      const claiming = Array.from({ length: 8 }, async () => {
        while (!isLost) await claim();
      });
      await until('some are acknowledged', () => acknowledged.length > 100);
      replication.cut();
      // Acknowledged or not: if it was, the standby must have it.
      await claim();
      await postgres.kill();
      isLost = true;
      await Promise.all(claiming);
      await asked(postgres.replica!.url, 'SELECT pg_promote()');
      toPrimary.leadTo(postgres.replica!.address);
      const before = [...acknowledged];
      await until('writes are acknowledged again', async () => (await claim()) === 201);
      for (const alias of before) {
        expectSafeStatus(await claim(alias, 'https://example.com/elsewhere')).toBe(409);
        const { status, location } = await follow(terse.url, alias);
        expectSafeStatus(status).toBe(alias === 'killed' ? 410 : 302);
        expectSafe([alias, location]).toEqual([alias, alias === 'killed' ? null : longUrl]);
      }
    });
  },
  { own: true },
);
