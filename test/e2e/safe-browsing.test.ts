/** Safe Browsing end to end: listed destinations are rejected, and links whose destination is listed later are blocked. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, sleep, systemClock } from '../../src/base/clock.ts';
import { type Call, callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { SafeBrowsingServer } from '../kit/safe-browsing-server.ts';
import { storedRows } from '../kit/stored-rows.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';

const key = 'the-safe-browsing-key';

describe('with Safe Browsing', () => {
  const server = new SafeBrowsingServer();
  const listName = 'mw-4b';
  server.list(listName, ['evil.example/']);
  afterAll(() => server.stop());
  let clock: ManualClock;
  let terse: TerseHere;
  let call: Call;

  beforeEach(async () => {
    clock = new ManualClock();
    const env = { TERSE_SAFE_BROWSING_URL: server.url, TERSE_SAFE_BROWSING_KEY: key };
    terse = await startTerseHere({ env, clock });
    call = callerOf(terse.url);
    await until(async () => (await metrics()).includes(`_list_entries{list="${listName}"}`));
  });
  afterEach(() => terse.stop());

  /** Advances the clock a second at a time, and lets the work that this starts finish. */
  async function until(isSo: () => Promise<boolean>): Promise<void> {
    while (!(await isSo())) {
      clock.advance(1_000);
      await sleep(systemClock, 2);
    }
  }
  const metrics = async (): Promise<string> => (await call('GET', '/metrics')).body;
  const create = (longUrl: string) => call('POST', '/api/v1/links', { body: { longUrl } });
  const statusOf = async (code: string): Promise<number> => (await call('GET', `/${code}`)).status;

  test('a listed destination is rejected with the reason, and nothing is stored', async () => {
    const answer = await create('https://sub.evil.example/page');
    expectProblem(answer, 403, 'url_blocked');
    expect(answer.body.detail).toContain('malware');
    expect(storedRows(terse.dataFolder).links).toEqual([]);
    expect(await metrics()).toContain('terse_safe_browsing_checks_total{outcome="listed"} 1');
  });

  test('a link whose destination is listed later is blocked automatically', async () => {
    const [bad, good] = [await create('https://later.example/x'), await create('https://good.example/')];
    expect(await statusOf(bad.body.shortCode)).toBe(302);
    server.list(listName, ['later.example/']);
    await until(async () => (await statusOf(bad.body.shortCode)) === 410);
    expect(await statusOf(good.body.shortCode)).toBe(302);
    const { entries } = (await call('GET', `/api/v1/links/${bad.body.shortCode}/history`)).body;
    const reason = 'Safe Browsing lists the destination as malware.';
    expect(entries[0]).toMatchObject({ action: 'link.listed', by: 'system', reason });
    server.unlist(listName, ['later.example/']);
  });

  test('links are still created and followed when the server is down', async () => {
    const { body } = await create('https://good.example/');
    server.behaviour.status = 503;
    clock.set(clock.now() + 60 * 60_000);
    expect((await create('https://evil.example/')).status).toBe(201);
    expect(await statusOf(body.shortCode)).toBe(302);
    expect(await metrics()).toContain('terse_safe_browsing_checks_total{outcome="stale"} 1');
    server.behaviour.status = 200;
  });

  test('the key is sent to the server, and never shown', async () => {
    server.behaviour.status = 503;
    await until(async () => (await metrics()).includes('updates_total{result="failed"} 1'));
    server.behaviour.status = 200;
    expect([...server.keys]).toEqual([key]);
    expect(terse.logged()).toContain('safe browsing failed');
    expect(terse.logged()).not.toContain(key);
  });
});

test('without a key nothing is sent', async () => {
  const server = new SafeBrowsingServer();
  const clock = new ManualClock();
  const terse = await startTerseHere({ env: { TERSE_SAFE_BROWSING_URL: server.url }, clock });
  const call = callerOf(terse.url);
  for (let minute = 0; minute < 60; minute += 1) {
    clock.advance(60_000);
    await sleep(systemClock, 1);
  }
  expect((await call('POST', '/api/v1/links', { body: { longUrl: 'https://good.example/' } })).status).toBe(
    201,
  );
  expect((await call('GET', '/metrics')).body).not.toContain('safe_browsing');
  expect(server.asked).toEqual([]);
  await terse.stop();
  await server.stop();
});
