/**
 * Two processes share one data folder and so enforce the limits of an account together. Whatever happens to the file
 * they count in, no request is rejected that should be served, and no limit ever disappears altogether.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { openForWriting } from '../../src/engines/sqlite/database.ts';
import { type Answer, type Call, callerOf } from '../kit/client.ts';
import { accountOn, anotherKey } from '../kit/planned-account.ts';
import { report } from '../kit/report.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';

const clients = 20;
/** Silent, because the failures here are intended. */
const env = { TERSE_LIMITS: 'default', TERSE_LOG_LEVEL: 'silent' };

let dataFolder: string;
let processes: TerseProcess[];
let calls: Call[];

beforeEach(async () => {
  dataFolder = temporaryFolder();
  processes = await Promise.all([1, 2].map(() => startTerseProcess({ dataFolder, env })));
  calls = processes.map(({ url }) => callerOf(url));
});
afterEach(async () => {
  await Promise.all(processes.map(each => each.stop()));
  rmSync(dataFolder, { recursive: true, force: true });
});

const create = (call: Call, key: string | undefined): Promise<Answer> =>
  call('POST', '/api/v1/links', { key, body: { longUrl: 'https://example.com/limited' } });

/** Twenty clients, ten at each process, all creating at once until each of them has been refused. */
async function createUntilRefused(key: string): Promise<Answer[]> {
  const answers: Answer[] = [];
  const client = async (index: number): Promise<void> => {
    for (;;) {
      const answer = await create(calls[index % calls.length]!, key);
      answers.push(answer);
      if (answer.status !== 201) return;
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, index) => client(index)));
  return answers;
}

const statuses = (answers: readonly Answer[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

async function metric(name: string): Promise<number> {
  let sum = 0;
  for (const call of calls) {
    const { body } = await call('GET', '/metrics');
    for (const line of String(body).split('\n')) {
      if (line.startsWith(name)) sum += Number(line.slice(line.lastIndexOf(' ')));
    }
  }
  return sum;
}

test('twenty clients of one account at two processes make exactly as many links as its plan allows', async () => {
  const { key } = await accountOn(calls[0]!, 'free');
  const startedMs = systemClock.monotonicMs();
  const answers = await createUntilRefused(key);
  const elapsedMs = systemClock.monotonicMs() - startedMs;
  expect(statuses(answers)).toEqual({ 201: 100, 429: clients });

  const remaining = answers
    .filter(({ status }) => status === 201)
    .map(({ headers }) => Number(headers.get('RateLimit-Remaining')));
  expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index));
  const waits = answers
    .filter(({ status }) => status === 429)
    .map(({ headers, body }) => {
      const seconds = Number(headers.get('Retry-After'));
      expect(body).toMatchObject({ code: 'rate_limited', retryAfter: seconds });
      return seconds;
    });
  // One link comes back every 36 seconds, counted from the first that was made.
  expect(Math.max(...waits)).toBeLessThanOrEqual(36);
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(36 - Math.ceil(elapsedMs / 1_000));
  expect(await metric('terse_limits_local_total')).toBe(0);
  expect(await metric('terse_rate_limited_total{plan="free",kind="create"}')).toBe(clients);
  report(
    `${clients} clients, 2 processes, one key of 100/h: ${JSON.stringify(statuses(answers))} in ` +
      `${elapsedMs.toFixed(0)} ms, Retry-After ${Math.min(...waits)} to ${Math.max(...waits)} s`,
  );
});

test('after the wait that the answer named, exactly one more link can be made', async () => {
  await Promise.all(processes.map(each => each.stop()));
  const faster = { ...env, TERSE_LIMITS: 'free=20/min' };
  processes = await Promise.all([1, 2].map(() => startTerseProcess({ dataFolder, env: faster })));
  calls = processes.map(({ url }) => callerOf(url));
  const { key } = await accountOn(calls[0]!, 'free');
  await createUntilRefused(key);
  const refused = await create(calls[0]!, key);
  expect(refused.status).toBe(429);
  const seconds = Number(refused.headers.get('Retry-After'));
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(3);
  await Bun.sleep(seconds * 1_000);
  expect((await create(calls[1]!, key)).status).toBe(201);
});

test('a second key, a bulk call and a restart all draw from what the account has left', async () => {
  const { accountId, key } = await accountOn(calls[0]!, 'free');
  const bulk = (count: number, by: string): Promise<Answer> =>
    calls[1]!('POST', '/api/v1/links/bulk', {
      key: by,
      body: { links: Array.from({ length: count }, () => ({ longUrl: 'https://example.com/' })) },
    });
  expect((await bulk(60, key)).headers.get('RateLimit-Remaining')).toBe('40');
  const tooMany = await bulk(41, await anotherKey(calls[0]!, accountId));
  expect([tooMany.status, tooMany.headers.get('RateLimit-Remaining')]).toEqual([429, '40']);
  const never = await bulk(101, key);
  expect([never.status, never.body.code]).toEqual([403, 'plan_too_small']);

  await Promise.all(processes.map(each => each.kill()));
  processes = [await startTerseProcess({ dataFolder, env })];
  calls = processes.map(({ url }) => callerOf(url));
  expect((await createUntilRefused(key)).filter(({ status }) => status === 201)).toHaveLength(40);
});

describe('when the file of limits', () => {
  const path = (): string => join(dataFolder, 'limits.db');

  test('is locked by another process, requests are served and each process limits alone', async () => {
    const { key } = await accountOn(calls[0]!, 'free');
    expect((await create(calls[0]!, key)).status).toBe(201);
    const holder = openForWriting(path());
    holder.run('BEGIN IMMEDIATE');
    try {
      const { 201: served = 0 } = statuses(await createUntilRefused(key));
      expect(served).toBeGreaterThanOrEqual(100);
      expect(served).toBeLessThanOrEqual(200);
      expect(await metric('terse_limits_local_total')).toBeGreaterThanOrEqual(served);
    } finally {
      holder.run('ROLLBACK');
      holder.close();
    }
  });

  test('is corrupted, requests are served, the operator notices nothing, and limits are shared again', async () => {
    const { key } = await accountOn(calls[0]!, 'free');
    expect((await create(calls[0]!, key)).status).toBe(201);
    await Promise.all(processes.map(each => each.stop()));
    writeFileSync(path(), 'no database at all '.repeat(1_000));
    processes = await Promise.all([1, 2].map(() => startTerseProcess({ dataFolder, env })));
    calls = processes.map(({ url }) => callerOf(url));
    expect(statuses(await createUntilRefused(key))).toEqual({ 201: 100, 429: clients });
  });
});

test('the operator is never limited, also while counting is impossible', async () => {
  const holder = openForWriting(join(dataFolder, 'limits.db'));
  holder.run('BEGIN EXCLUSIVE');
  try {
    for (let n = 0; n < 150; n += 1) {
      const answer = await calls[n % 2]!('POST', '/api/v1/links', {
        body: { longUrl: 'https://example.com/' },
      });
      expect([answer.status, answer.headers.get('RateLimit-Limit')]).toEqual([201, null]);
    }
  } finally {
    holder.run('ROLLBACK');
    holder.close();
  }
});
