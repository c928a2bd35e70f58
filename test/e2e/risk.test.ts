/** Destinations that look bad: links to them exist, under a warning or blocked, until a moderator has reviewed them. */
import { afterAll, describe, expect, test } from 'bun:test';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { metricOf } from '../kit/follow.ts';
import { addAccount } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { temporaryFolder } from '../kit/terse-process.ts';

const folder = temporaryFolder();
const riskFile = join(folder, 'risk.json');
const agesFile = join(folder, 'ages.txt');
const today = new Date().toISOString().slice(0, 10);
const writeWhole = (path: string, text: string): void => {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
};
writeWhole(riskFile, '{"trusted": ["trusted-login.example"]}');
writeWhole(agesFile, `fresh.example ${today}\n`);

const terse = await startTerseHere({ env: { TERSE_RISK_FILE: riskFile, TERSE_DOMAIN_AGES: agesFile } });
afterAll(() => terse.stop());
const call = callerOf(terse.url);
const ownerKey = addAccount(terse.dataFolder, 'owner');

const suspicious = 'https://paypal-help.example/verify';
const glaring = 'http://paypal.com.secure-login.top/wp-content/paypal/login.php';
const create = (longUrl: string, key = ownerKey) => call('POST', '/api/v1/links', { key, body: { longUrl } });
const caseOf = async (code: string) => (await call('GET', `/api/v1/moderation/links/${code}`)).body;

describe('a link to a destination', () => {
  test('that is suspicious is quarantined: a warning first, and a moderator is asked', async () => {
    const before = await metricOf(terse.url, 'malicious_url_attempts_total{type="quarantined"}').catch(
      () => 0,
    );
    const { status, body } = await create(suspicious);
    expect({ status, state: body.status }).toEqual({ status: 201, state: 'quarantined' });
    expectProblem(await call('GET', `/${body.shortCode}`), 403, 'link_quarantined');
    const { link } = await caseOf(body.shortCode);
    expect(link.risk.score).toBe(65);
    expect(link.risk.reasons).toEqual([
      'phishingWords (+20): verify',
      'brandInDomain (+45): paypal-help for paypal',
    ]);
    const { entries } = (await call('GET', '/api/v1/moderation/queue')).body;
    expect(entries.map((entry: { link: { shortCode: string } }) => entry.link.shortCode)).toContain(
      body.shortCode,
    );
    expect(await metricOf(terse.url, 'malicious_url_attempts_total{type="quarantined"}')).toBe(before + 1);
  });

  test('that is clearly malicious is blocked until it was reviewed', async () => {
    const { status, body } = await create(glaring);
    expect({ status, state: body.status }).toEqual({ status: 201, state: 'blocked' });
    expectProblem(await call('GET', `/${body.shortCode}`), 410, 'link_blocked');
  });

  test('with little risk is active, and its risk is kept', async () => {
    const { body } = await create('https://example.com/login');
    expect(body.status).toBe('active');
    expect((await caseOf(body.shortCode)).link.risk).toEqual({
      score: 20,
      reasons: ['phishingWords (+20): login'],
    });
    const { body: plain } = await create('https://example.com/');
    expect((await caseOf(plain.shortCode)).link.risk).toBeNull();
  });

  test('is judged the same for the admin, and item by item in a bulk call', async () => {
    expect((await call('POST', '/api/v1/links', { body: { longUrl: suspicious } })).body.status).toBe(
      'quarantined',
    );
    const links = [suspicious, 'https://example.com/', glaring].map(longUrl => ({ longUrl }));
    const { results } = (await call('POST', '/api/v1/links/bulk', { body: { links } })).body;
    expect(results.map((result: { link: { status: string } }) => result.link.status)).toEqual([
      'quarantined',
      'active',
      'blocked',
    ]);
  });

  test('that is changed is judged again, and no change lifts a hold', async () => {
    const { shortCode } = (await create('https://example.com/')).body;
    const edit = (longUrl: string, method = 'PATCH') =>
      call(method, `/api/v1/links/${shortCode}`, { key: ownerKey, body: { longUrl } });
    expect((await edit(suspicious)).body.status).toBe('quarantined');
    expect((await edit('https://example.com/')).body.status).toBe('quarantined');
    expect((await edit(glaring, 'PUT')).body.status).toBe('blocked');
    expect((await edit(suspicious)).body.status).toBe('blocked');
  });

  test('that a moderator has allowed is not held again when it is sent once more', async () => {
    const { shortCode } = (await create(suspicious)).body;
    const { version } = (await caseOf(shortCode)).link;
    const decision = { decision: 'allow', reason: 'It is their own.', version };
    await call('POST', `/api/v1/moderation/links/${shortCode}/decision`, { body: decision });
    const stated = await call('PUT', `/api/v1/links/${shortCode}`, {
      key: ownerKey,
      body: { longUrl: suspicious, title: 'A title' },
    });
    expect(stated.body).toMatchObject({ status: 'active', title: 'A title' });
  });
});

describe('the configuration of the operator', () => {
  const scoreOf = async (longUrl: string): Promise<number> =>
    (await caseOf((await create(longUrl)).body.shortCode)).link.risk?.score ?? 0;

  test('of the age of domains applies', async () => {
    expect(await scoreOf('https://www.fresh.example/')).toBe(30);
    expect(await scoreOf('https://www.stale.example/')).toBe(0);
  });

  test('of weights and trusted domains applies, and is reloaded while Terse runs', async () => {
    expect(await scoreOf('https://trusted-login.example/verify')).toBe(0);
    writeWhole(riskFile, '{"weights": {"phishingWords": 7}}');
    while ((await scoreOf('https://example.com/login')) !== 7) await sleep(systemClock, 20);
    writeWhole(riskFile, '{"weights": {"phishingWords": ');
    while ((await metricOf(terse.url, 'terse_list_healthy{list="risk file"}')) !== 0)
      await sleep(systemClock, 20);
    expect(await scoreOf('https://example.com/login')).toBe(7);
  });
});

test('many links in one call raise the risk', async () => {
  const links = Array.from({ length: 60 }, (_, index) => ({ longUrl: `https://example.com/${index}` }));
  const { results } = (await call('POST', '/api/v1/links/bulk', { key: ownerKey, body: { links } })).body;
  const { risk } = (await caseOf(results[0].link.shortCode)).link;
  // Those of the tests before are among them, and those of the whole call.
  const [, count] = /^velocity \(\+15\): (\d+) links within an hour$/.exec(risk.reasons[0])!;
  expect(Number(count)).toBeGreaterThanOrEqual(60);
  expect((await caseOf(results[59].link.shortCode)).link.risk).toEqual(risk);
});
