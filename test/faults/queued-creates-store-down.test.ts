/**
 * Queued writes while the store is down (W2): links are made with an API key as long as leased codes last, can be
 * followed at once in every process, and are stored exactly once afterwards. A key revoked just before is rejected as
 * quickly as usual; one that a process has never seen cannot be checked, which is a 503 and no 401.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { inParallel } from '../../src/base/in-parallel.ts';
import { openPostgres } from '../../src/engines/postgres/postgres.ts';
import { type Answer, callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../kit/engines/kafka.ts';
import { type PostgresEngine, startPostgres } from '../kit/engines/postgres.ts';
import { sharedRedis } from '../kit/engines/redis.ts';
import { askRedis } from '../kit/engines/redis-question.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { follow, metricOf } from '../kit/follow.ts';
import { type HotLink, percentilesOf } from '../kit/hot-visitors.ts';
import { type Fleet, type FleetMember, startFleet } from '../kit/outage-fleet.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(heavyTestMaxMs);

const outageMs = scaled(6_000, 60_000);
/** For all processes together. Each has leased 10,000 codes. */
const createsPerSecond = scaled(20, 50);
/** After this long no client may use a revoked key: 3 s, and half a second for a busy machine. */
const revokedMaxMs = 3_500;
const keyProbeMs = 100;
const inUseMs = 3_000;

const faults = {
  hanging: {
    strike: async (store: PostgresEngine) => store.pause(),
    heal: async (store: PostgresEngine) => store.resume(),
  },
  killed: {
    strike: (store: PostgresEngine) => store.kill(),
    heal: (store: PostgresEngine) => store.restart(),
  },
} as const;

describeWithEngine('kafka', 'queued creates', () => {
  describeWithEngine('redis', 'found through Redis', () => {
    describeWithEngine('postgres', 'with Postgres down', body, { own: true });
  });
});

interface CreateAnswer {
  readonly process: number;
  readonly status: number;
  readonly tookMs: number;
}

function body(): void {
  let postgres: PostgresEngine;
  let database: string;
  let fleet: Fleet;

  beforeAll(async () => {
    postgres = await startPostgres({ fsync: false });
    database = await postgres.freshDatabase();
    fleet = await startFleet({
      count: 2,
      links: database,
      cache: (await sharedRedis()).url,
      env: {
        TERSE_WRITES: 'queued',
        TERSE_STREAM: (await sharedKafka()).freshTopicUrl({ partitions: 2 }),
        TERSE_CLICKS: 'off',
      },
    });
    for (const url of fleet.urls)
      await until('the queue', async () => (await create(url, undefined, 'first')).status === 201);
  }, heavyTestMaxMs);
  afterAll(async () => {
    await fleet?.stop();
    await postgres?.stop();
  });

  /** With the admin's key when there is none. */
  const create = (url: string, key: string | undefined, name: string) =>
    callerOf(url)('POST', '/api/v1/links', {
      ...(key !== undefined && { key }),
      body: { longUrl: `https://example.com/${name}` },
    });

  async function newAccount(url: string, name: string): Promise<string> {
    const { status, body: answer } = await callerOf(url)('POST', '/api/v1/accounts', { body: { name } });
    expect(status).toBe(201);
    return answer.id;
  }

  async function newKey(url: string, name: string, accountId: string): Promise<{ id: string; key: string }> {
    const body = { name, accountId };
    const { status, body: answer } = await callerOf(url)('POST', '/api/v1/keys', { body });
    expect(status).toBe(201);
    return answer;
  }

  /**
   * Makes links at a steady rate with one key, at each process in turn; every link that is made is followed everywhere.
   */
  async function keepCreating(key: string, prefix: string) {
    const made: HotLink[] = [];
    const answers: CreateAnswer[] = [];
    const misdirected: string[] = [];
    const count = Math.round((outageMs / 1_000) * createsPerSecond);
    const fromMs = performance.now();
    await inParallel(count, 32, async n => {
      await Bun.sleep(Math.max(0, fromMs + (n * 1_000) / createsPerSecond - performance.now()));
      const startedMs = performance.now();
      const { status, body: answer } = await create(fleet.urls[n % 2]!, key, `${prefix}/${n}`);
      answers.push({ process: n % 2, status, tookMs: performance.now() - startedMs });
      if (status !== 201) return;
      made.push({ code: answer.shortCode, longUrl: answer.longUrl });
      for (const url of fleet.urls) {
        const visit = await follow(url, answer.shortCode);
        if (visit.status !== 302 || visit.location !== answer.longUrl)
          misdirected.push(`${visit.status} by process ${fleet.urls.indexOf(url)}`);
      }
    });
    return { made, answers, misdirected };
  }

  /** How long a process took from the revocation until it permanently answered 401, and its last answer. */
  async function probeRevoked(url: string, key: string, revokedMs: number, isOver: () => boolean) {
    let acceptedMs = 0;
    let otherMs = 0;
    let last = 0;
    while (!isOver()) {
      const startedMs = performance.now();
      const { status } = await create(url, key, 'revoked');
      if (status === 201) acceptedMs = startedMs - revokedMs;
      if (status !== 401) otherMs = startedMs - revokedMs;
      last = status;
      await Bun.sleep(keyProbeMs);
    }
    return { acceptedMs, otherMs, last };
  }

  test.each(Object.keys(faults) as (keyof typeof faults)[])(
    'go on with a key while the store is %s, and are stored once',
    async fault => {
      const [first, second] = fleet.urls as [string, string];
      const prefix = `outage/${fault}`;
      const busy = await newAccount(second, `busy ${fault}`);
      const other = await newAccount(second, `other ${fault}`);
      const used = await newKey(second, 'used', busy);
      const unseen = await newKey(second, 'unseen', busy);
      const revoked = await newKey(second, 'revoked', other);
      const sibling = await newKey(second, 'of the same account', other);
      // Use the keys for a few heartbeats, so that the copies are from a time without missed messages.
      for (const startedMs = performance.now(); performance.now() - startedMs < inUseMs; ) {
        for (const url of fleet.urls) {
          for (const { key } of [used, revoked, sibling])
            await until('a create', async () => (await create(url, key, 'before')).status === 201);
        }
        await Bun.sleep(keyProbeMs);
      }
      const { strike, heal } = faults[fault];
      expect((await callerOf(second)('DELETE', `/api/v1/keys/${revoked.id}`)).status).toBe(204);
      const revokedMs = performance.now();
      await strike(postgres);

      let isOver = false;
      const probing = Promise.all(
        fleet.urls.map(url => probeRevoked(url, revoked.key, revokedMs, () => isOver)),
      );
      let outcome: Awaited<ReturnType<typeof keepCreating>>;
      let withUnseen: Answer;
      let withSibling: Answer;
      try {
        [outcome, withUnseen, withSibling] = await Promise.all([
          keepCreating(used.key, prefix),
          Bun.sleep(outageMs / 2).then(() => create(first, unseen.key, 'unseen')),
          Bun.sleep(outageMs / 2).then(() => create(first, sibling.key, 'sibling')),
        ]);
      } finally {
        isOver = true;
        // Also wait for the probes in progress.
        await probing;
        await heal(postgres);
      }
      const { made, answers, misdirected } = outcome;
      const refused = answers.filter(({ status }) => status !== 201);
      const answered = ({ process, status }: CreateAnswer) => `${status} by process ${process}`;
      const statuses = [...Map.groupBy(refused, answered)].map(
        ([answer, some]) => `${answer}: ${some.length}`,
      );
      const at = percentilesOf(answers.map(({ tookMs }) => tookMs));
      const probes = await probing;
      report(
        `store ${fault} for ${outageMs / 1_000} s: ${made.length} of ${answers.length} creates with a key made` +
          `${statuses.length === 0 ? '' : ` (${statuses.join(', ')})`}; p50 ${at(0.5).toFixed(0)} ms, ` +
          `p99 ${at(0.99).toFixed(0)} ms, max ${at(1).toFixed(0)} ms; ${misdirected.length} not followed at once${misdirected.length === 0 ? '' : ` (such as ${misdirected[0]})`}`,
      );
      report(
        `  the revoked key: ${probes.map(({ acceptedMs, otherMs, last }, n) => `process ${n} accepted it for ${acceptedMs.toFixed(0)} ms, said ${last} at last, no 401 for ${otherMs.toFixed(0)} ms`).join('; ')}; the unseen key: ${withUnseen.status}; another key of the account whose key was revoked: ${withSibling.status}`,
      );
      const startedMs = performance.now();
      await until('the drain', async () => {
        const behind = await Promise.all(fleet.urls.map(url => metricOf(url, 'terse_links_queue_length')));
        return behind.every(each => each === 0) && (await storedUnder(prefix)).length >= made.length;
      });
      const stored = await storedUnder(prefix);
      report(
        `  ${stored.length} links stored for ${made.length} promised, ${((performance.now() - startedMs) / 1_000).toFixed(1)} s after the store was back`,
      );

      expect(statuses).toEqual([]);
      expect(misdirected).toEqual([]);
      const byCode = new Map(stored.map(({ code, longUrl }) => [code, longUrl]));
      expectSafe(made.filter(({ code, longUrl }) => byCode.get(code) !== longUrl)).toEqual([]);
      expectSafe(new Set(stored.map(({ longUrl }) => longUrl)).size).toBe(stored.length);
      expectSafe(stored.length).toBe(made.length);
      for (const { acceptedMs, otherMs, last } of probes) {
        expect(last).toBe(401);
        expect(acceptedMs).toBeLessThan(revokedMaxMs);
        expect(otherMs).toBeLessThan(revokedMaxMs);
      }
      expectProblem(withUnseen, 503, 'store_unavailable');
      expect(withSibling.status).toBe(201);
    },
  );

  test('a deleted link does not come back with a pending record that is restored too late', async () => {
    const [killer, cutOff] = fleet.members as [FleetMember, FleetMember];
    const redis = (await sharedRedis()).url;
    // No worker stores it, so that there is a record to restore.
    await Promise.all([killer.store.fail('refused'), cutOff.store.fail('refused')]);
    try {
      let code = '';
      await until('a create', async () => {
        const { status, body: link } = await create(killer.url, undefined, 'restored');
        code = link.shortCode;
        return status === 201;
      });
      const key = `terse:pending:${code}`;
      const [, record] = (await askRedis(redis, `GET ${key}`)).split('\r\n');
      expect((await follow(cutOff.url, code)).status).toBe(302);
      await killer.store.heal();
      await until('a deletion', async () => {
        const { status } = await callerOf(killer.url)('DELETE', `/api/v1/links/${code}`);
        return status === 204;
      });
      for (let round = 0; round < 3; round += 1) {
        await askRedis(redis, `SET ${key} '${record}' PX 60000`);
        expect((await follow(cutOff.url, code)).status).toBe(503);
      }
    } finally {
      await Promise.all([killer.store.heal(), cutOff.store.heal()]);
    }
  });

  async function storedUnder(prefix: string): Promise<HotLink[]> {
    const store = openPostgres(database, { clock: systemClock });
    try {
      const rows = await store.query<{ code: string; long_url: string }>(
        'SELECT code, long_url FROM links WHERE long_url LIKE $1',
        [`https://example.com/${prefix}/%`],
      );
      return rows.map(row => ({ code: row.code, longUrl: row.long_url }));
    } finally {
      await store.close();
    }
  }
}
