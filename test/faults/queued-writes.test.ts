/**
 * A burst of creates, far faster than the queue is drained, while the worker that drains it is killed again and again:
 * every acknowledged link works at once, in every process, and after the drain; none is lost and none is stored twice.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { inParallel } from '../../src/base/in-parallel.ts';
import { openPostgres } from '../../src/engines/postgres/postgres.ts';
import { announcedRandom } from '../kit/announced-random.ts';
import { type BriskAnswer, BriskClient } from '../kit/brisk-client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../kit/engines/kafka.ts';
import { sharedPostgres } from '../kit/engines/postgres.ts';
import { type RedisEngine, startRedis } from '../kit/engines/redis.ts';
import { askRedis } from '../kit/engines/redis-question.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { metricOf } from '../kit/follow.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { adminKey, startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';

const createCount = scaled(600, 20_000);
const createsPerS = scaled(300, 2_000);
/** The rate of both workers together. */
const drainPerS = scaled(120, 200);
const killsMin = scaled(2, 10);
/** Starting another worker takes a core for a second, which the burst needs. */
const aliveMinMs = scaled(500, 2_000);
const aliveMaxMs = scaled(3_500, 4_000);
const visitorsMax = 32;
const openMax = 256;
const startAttemptsMax = 5;
const pollMs = 250;
const comeAgainMs = 1_000;
const comeAgainMax = 20;

interface Made {
  readonly code: string;
  readonly longUrl: string;
}

describeWithEngine('kafka', 'queued writes', () => {
  describeWithEngine('postgres', 'into Postgres', () => {
    describeWithEngine('redis', 'found through Redis', body, { own: true });
  });
});

function body(): void {
  const random = announcedRandom('queued writes');
  /** The processes that acknowledge and redirect, and the workers that drain. */
  const servers: TerseProcess[] = [];
  const clients: BriskClient[] = [];
  const workers: TerseProcess[] = [];
  let redis: RedisEngine;
  let database: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    redis = await startRedis();
    database = await (await sharedPostgres()).freshDatabase();
    env = {
      TERSE_LINKS: database,
      TERSE_STREAM: (await sharedKafka()).freshTopicUrl({ partitions: 4 }),
      TERSE_CACHE: redis.url,
      TERSE_WRITES: 'queued',
      TERSE_DRAIN_PER_S: String(drainPerS / 2),
      TERSE_CLICKS: 'off',
      TERSE_LOG_LEVEL: 'silent',
    };
    for (let index = 0; index < 2; index += 1) await startServer(index);
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    for (const terse of [...servers, ...workers]) await terse.stop();
    await redis?.stop();
  });

  /** Retries, because an overloaded machine may not start a process in time. */
  async function start(roles: string): Promise<TerseProcess> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await startTerseProcess({ env: { ...env, TERSE_ROLES: roles } });
      } catch (error) {
        if (attempt === startAttemptsMax) throw error;
      }
    }
  }

  async function startServer(index: number): Promise<void> {
    servers[index] = await start('api,redirect');
    clients[index]?.close();
    clients[index] = new BriskClient(servers[index].url, openMax);
  }

  const create = (server: number, longUrl: string): Promise<BriskAnswer> =>
    clients[server]!.call(
      ['POST /api/v1/links HTTP/1.1', `Authorization: Bearer ${adminKey}`, 'Content-Type: application/json'],
      JSON.stringify({ longUrl }),
    );

  const misdirected: string[] = [];
  /** Visits that an overloaded server asked to retry. */
  let putOff = 0;
  async function expectLeadsThere({ code, longUrl }: Made, when: string): Promise<void> {
    for (const client of clients) {
      const follow = (): Promise<BriskAnswer> => client.call([`GET /${code} HTTP/1.1`]);
      let visit = await follow();
      for (let again = 0; visit.status === 503 && again < comeAgainMax; again += 1) {
        putOff += 1;
        await sleep(systemClock, comeAgainMs);
        visit = await follow();
      }
      const { status, location } = visit;
      if (status !== 302 || location !== longUrl) misdirected.push(`${when} ${code}: ${status} ${location}`);
    }
  }

  /** Makes links at a steady rate and follows them in every process as soon as they are acknowledged. */
  async function burst(): Promise<Made[]> {
    const made: Made[] = [];
    let refused = 0;
    const createOne = async (n: number): Promise<void> => {
      const longUrl = `https://example.com/queued/${n}`;
      const { status, body: answer } = await create(n % servers.length, longUrl);
      if (status !== 201) {
        refused += 1;
        return;
      }
      const link = { code: JSON.parse(answer).shortCode, longUrl };
      made.push(link);
      await expectLeadsThere(link, 'at once');
    };
    const startedMs = performance.now();
    const open = new Set<Promise<void>>();
    for (let n = 0; n < createCount; ) {
      const dueMs = (n / createsPerS) * 1_000;
      // On a slow machine the burst takes longer, but has no more concurrent creates.
      if (performance.now() - startedMs < dueMs || open.size >= openMax) {
        await sleep(systemClock, 2);
        continue;
      }
      const one = createOne(n).finally(() => open.delete(one));
      open.add(one);
      n += 1;
    }
    await Promise.all(open);
    const tookS = (performance.now() - startedMs) / 1_000;
    report(`${made.length} of ${createCount} links promised in ${tookS.toFixed(1)} s, ${refused} refused`);
    return made;
  }

  const behind = (): Promise<number> => metricOf(servers[0]!.url, 'terse_links_queue_length');
  /** Waits until links are accepted: the first process creates the topic. Returns how many were rejected before. */
  async function untilTaken(): Promise<number> {
    let rejected = 0;
    for (; (await create(0, 'https://example.com/first')).status !== 201; rejected += 1)
      await sleep(systemClock, pollMs);
    return rejected;
  }

  /** Two workers that drain and take over from each other; one of them is killed every few seconds. */
  class KilledWorkers {
    readonly #started = Promise.withResolvers<void>();
    readonly #enough = Promise.withResolvers<void>();
    readonly #loop = this.#kill();
    #isOver = false;
    kills = 0;

    constructor() {
      // `end` reports the error; until then the burst continues.
      this.#loop.catch(() => {
        this.#started.resolve();
        this.#enough.resolve();
      });
    }

    /** Resolves when both drain for the first time, so that their start does not slow down the burst. */
    get started(): Promise<void> {
      return this.#started.promise;
    }

    /** Resolves after as many kills as the test wants. */
    get enough(): Promise<void> {
      return this.#enough.promise;
    }

    async end(): Promise<void> {
      this.#isOver = true;
      await this.#loop;
    }

    async #kill(): Promise<void> {
      workers.push(await start('worker'), await start('worker'));
      this.#started.resolve();
      while (!this.#isOver) {
        await sleep(systemClock, aliveMinMs + random.float() * (aliveMaxMs - aliveMinMs));
        await workers[this.kills % 2]!.kill();
        workers[this.kills % 2] = await start('worker');
        this.kills += 1;
        if (this.kills >= killsMin) this.#enough.resolve();
      }
    }
  }

  test(
    'acknowledged links work at once and after the drain, whichever process is killed meanwhile',
    async () => {
      const rejectedFirst = await untilTaken();
      const killing = new KilledWorkers();
      let made: readonly Made[];
      let leftAfterBurst: number;
      try {
        await killing.started;
        made = await burst();
        expectSafe(misdirected).toEqual([]);
        expect(made.length).toBeGreaterThan(0);
        leftAfterBurst = await behind();
        await inParallel(made.length, visitorsMax, index =>
          expectLeadsThere(made[index]!, 'after the burst'),
        );
        expectSafe(misdirected).toEqual([]);
        // The process that acknowledged a link may die: the queue has the link.
        await servers[0]!.kill();
        await startServer(0);
        expect(await metricOf(servers[1]!.url, 'terse_links_queued_total')).toBeGreaterThan(0);
        await killing.enough;
      } finally {
        await killing.end();
      }
      const drainedMs = performance.now();
      while ((await behind()) > 0) await sleep(systemClock, pollMs);
      // Once more, because the number is a second old at most.
      await sleep(systemClock, 2_000);
      expect(await behind()).toBe(0);
      const tookS = (performance.now() - drainedMs) / 1_000;
      report(
        `${leftAfterBurst} waited after the burst; ${killing.kills} kills; drained ${tookS.toFixed(1)} s later`,
      );

      await inParallel(made.length, visitorsMax, index => expectLeadsThere(made[index]!, 'after the drain'));
      expectSafe(misdirected).toEqual([]);
      const postgres = openPostgres(database, { clock: systemClock });
      const all = await postgres.query<{ code: string; long_url: string }>(
        'SELECT code, long_url FROM links',
      );
      await postgres.close();
      const rows = all.filter(row => row.long_url.startsWith('https://example.com/queued/'));
      const stored = new Map(rows.map(row => [row.code, row.long_url]));
      expectSafe(stored.size).toBe(rows.length);
      expectSafe(made.filter(({ code, longUrl }) => stored.get(code) !== longUrl)).toEqual([]);
      expectSafe(new Set(made.map(({ code }) => code)).size).toBe(made.length);
      // Each call made one link at most; a rejected call may have made one without the client's knowledge.
      expectSafe(new Set(stored.values()).size).toBe(stored.size);
      expectSafe(stored.size - made.length).toBeLessThanOrEqual(createCount - made.length);
      for (const { url } of workers) expect(await metricOf(url, 'terse_links_dead_lettered_total')).toBe(0);
      // Some pending records may remain after a kill; they expire, and the store is asked first. So may that of a link that
      // was rejected, when it could not be removed.
      const records = await askRedis(redis.url, 'KEYS terse:pending:*');
      const pending = [...records.matchAll(/terse:pending:(\w+)/g)].map(([, code]) => code!);
      const known = new Set(all.map(({ code }) => code));
      const ofRejected = rejectedFirst + createCount - made.length;
      expectSafe(pending.filter(code => !known.has(code)).length).toBeLessThanOrEqual(ofRejected);
      report(
        `${stored.size} links stored, each once; ${pending.length} records left, ${putOff} visits put off`,
      );
    },
    heavyTestMaxMs,
  );
}
