/** Single clicks: which data of each is kept, exported, watched and deleted, and which is never kept. */
import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { askWhile } from '../kit/click-account.ts';
import { ClickedTerse } from '../kit/clicked-terse.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { LiveView } from '../kit/live-view.ts';
import { until } from '../kit/until.ts';
import { browser, program } from '../kit/visitors.ts';

const clicked = await ClickedTerse.start(Date.UTC(2026, 2, 27, 12));
afterAll(() => clicked.terse.stop());
const { call, clock } = clicked;

const hourMs = 60 * 60_000;
/** The fields of a visit whose browser and short URL say nothing more. */
const noVisitFields = {
  region: '',
  language: '',
  utmSource: '',
  utmMedium: '',
  utmCampaign: '',
  utmTerm: '',
  utmContent: '',
  via: '',
};
const agent = (name: string) => ({ ...browser, 'User-Agent': name });
const exported = async (code: string, query = '') =>
  (await call('GET', `/api/v1/links/${code}/clicks${query}`)).body as string;
const linesOf = (text: string) =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));

describe('a visit that is not by a person', () => {
  test.each([
    ['head', browser, 'HEAD'],
    ['bot', program, 'GET'],
    ['bot', agent('Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'), 'GET'],
    ['preview', agent('Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)'), 'GET'],
    ['prefetch', { ...browser, 'Sec-Purpose': 'prefetch' }, 'GET'],
    ['prefetch', { ...browser, Purpose: 'prefetch;prerender' }, 'GET'],
  ] as const)('is redirected, kept as %s, and not counted as a click', async (kind, headers, method) => {
    const code = await clicked.create();
    expect((await clicked.visit(code, { headers, method })).status).toBe(302);
    await clicked.counted();
    const stats = await clicked.stats(`/api/v1/links/${code}/stats`);
    expect(stats).toMatchObject({
      totalClicks: 0,
      botClicks: 1,
      uniqueVisitors: 0,
      clicks24h: 0,
      browsers: [],
    });
    expect(linesOf(await exported(code))).toMatchObject([{ code, kind }]);
  });
});

test('a visit without a redirect is no click', async () => {
  const code = await clicked.create({ expiresAt: new Date(clock.now() + 1_000).toISOString() });
  clock.advance(2_000);
  expect((await clicked.visit(code)).status).toBe(410);
  await clicked.visit(`${code}+`);
  await clicked.counted();
  expect(await exported(code)).toBe('');
});

test('a limited link redirects exactly as many of fifty concurrent visitors as its limit, and counts them', async () => {
  const code = await clicked.create({ maxClicks: 7 });
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => clicked.visit(code, { address: `8.8.4.${n + 1}` })),
  );
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter(status => status === 302)).toHaveLength(7);
  expect(statuses.filter(status => status === 410)).toHaveLength(43);
  await clicked.counted();
  const stats = await clicked.stats(`/api/v1/links/${code}/stats`);
  expect([stats.totalClicks, stats.uniqueVisitors]).toEqual([7, 7]);
});

describe('the country of a click', () => {
  test.each([
    ['91.12.34.56', 'DE'],
    ['2a01:4f8:1:2::3', 'DE'],
    ['8.8.8.8', 'US'],
    // A visitor can send any address; the proxy appends the real one.
    ['8.8.8.8, 91.12.34.56', 'DE'],
    ['10.1.2.3', ''],
    ['nonsense', ''],
  ])('is found from the header of a trusted proxy: %s', async (address, country) => {
    const code = await clicked.create();
    await clicked.visit(code, { address });
    await clicked.counted();
    expect((await clicked.stats(`/api/v1/links/${code}/stats`)).topCountries).toEqual([
      { value: country, clicks: 1 },
    ]);
  });
});

describe('the export', () => {
  test('has one line per click, in order of time, as NDJSON or CSV, cut by time', async () => {
    const code = await clicked.create();
    const times: string[] = [];
    for (const referrer of ['', 'https://a.example/x?token=1', 'https://b.example/']) {
      times.push(new Date(clock.now()).toISOString());
      await clicked.visit(code, { headers: { ...browser, ...(referrer !== '' && { Referer: referrer }) } });
      clock.advance(60_000);
    }
    await clicked.counted();
    const lines = linesOf(await exported(code));
    expect(lines.map(({ at }) => at)).toEqual(times);
    expect(lines[1]).toEqual({
      at: times[1],
      code,
      kind: 'human',
      visitor: expect.stringMatching(/^[0-9a-f]{16}$/),
      country: 'DE',
      city: '',
      device: 'desktop',
      browser: 'Chrome',
      os: 'Linux',
      referrer: 'https://a.example/x',
      userAgent: browser['User-Agent'],
      signal: 'none',
      ...noVisitFields,
    });
    const answer = await call('GET', `/api/v1/links/${code}/clicks?format=csv`);
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${code}-clicks.csv"`);
    const rows = (answer.body as string).trimEnd().split('\r\n');
    expect(rows[0]).toBe(
      'at,code,kind,visitor,country,city,device,browser,os,referrer,userAgent,signal,' +
        'region,language,utmSource,utmMedium,utmCampaign,utmTerm,utmContent,via',
    );
    expect(rows.slice(1).map(row => row.split(',')[0])).toEqual(times);
    expectProblem(await call('GET', `/api/v1/links/${code}/clicks?format=xml`), 400, 'invalid_request');
    expectProblem(await call('GET', `/api/v1/links/${code}/clicks?from=soon`), 400, 'invalid_request');
  });

  test('keeps hostile text within its field', async () => {
    const code = await clicked.create();
    const hostile = '=cmd|"/c calc"!A1,\tMozilla/5.0 <script>alert(1)</script>';
    await clicked.visit(code, { headers: agent(hostile) });
    await clicked.counted();
    expect(linesOf(await exported(code))[0].userAgent).toBe(hostile);
    const [, row] = (await exported(code, '?format=csv')).split('\r\n');
    expect(row).toEndWith(`"'${hostile.replaceAll('"', '""')}",none,,,,,,,,`);
  });
});

test('deleted clicks disappear from counts and export, the account keeps its sum, and counting continues', async () => {
  const code = await clicked.create();
  const sum = async () => (await clicked.stats('/api/v1/stats')).totalClicks;
  const ofLink = async () => (await clicked.stats(`/api/v1/links/${code}/stats`)).totalClicks;
  const before = await sum();
  await clicked.visit(code);
  await clicked.visit(code);
  await clicked.counted();
  expect([await ofLink(), await sum()]).toEqual([2, before + 2]);
  expect((await call('DELETE', `/api/v1/links/${code}/clicks`)).status).toBe(204);
  clock.advance(1);
  expect([await ofLink(), await sum(), await exported(code)]).toEqual([0, before + 2, '']);
  await clicked.visit(code);
  await clicked.counted();
  expect([await ofLink(), await sum(), linesOf(await exported(code)).length]).toEqual([1, before + 3, 1]);
  // Also after a recount from the log, which still has them.
  await call('POST', '/api/v1/reconcile');
  expect([await ofLink(), await sum()]).toEqual([1, before + 3]);
});

test('a live view of a link shows its clicks and no others, without what identifies visitors', async () => {
  const [watched, other] = [await clicked.create(), await clicked.create()];
  const view = await LiveView.open(clicked.terse.url, watched);
  await clicked.visit(other);
  await clicked.visit(watched, { headers: { ...browser, Referer: 'https://news.example/a' } });
  await clicked.visit(watched, { headers: program });
  await clicked.counted();
  await until('both clicks', () => view.shown >= 2);
  view.close();
  expect(view.shown).toBe(2);
  const at = new Date(clock.now()).toISOString();
  const place = { code: watched, at, country: 'DE', city: '', ...noVisitFields };
  expect(view.clicks).toEqual([
    {
      ...place,
      kind: 'human',
      signal: 'none',
      browser: 'Chrome',
      os: 'Linux',
      device: 'desktop',
      referrer: 'news.example',
      referrerUrl: 'https://news.example/a',
      bot: '',
    },
    {
      ...place,
      kind: 'bot',
      signal: 'none',
      browser: '',
      os: '',
      device: 'bot',
      referrer: '',
      referrerUrl: '',
      bot: 'bot',
    },
  ] as never);
});

test('clicks of one address beyond its rate count, and are shown apart everywhere, also after a recount', async () => {
  const code = await clicked.create();
  const view = await LiveView.open(clicked.terse.url, code);
  const [allowed, sent] = [120, 130];
  for (let visit = 0; visit < sent; visit += 1) {
    // Only the first of many clicks at once are shown one by one, so the last one comes separately.
    if (visit === sent - 1) await clicked.counted();
    const another = browser['User-Agent'].replace('Chrome/140', `Chrome/${visit + 1}`);
    await clicked.visit(code, { address: '198.51.100.7', headers: agent(another) });
  }
  await clicked.visit(code, { address: '198.51.100.8' });
  await clicked.counted();
  const numbers = async () => {
    const { totalClicks, suspiciousClicks, series } = await clicked.stats(`/api/v1/links/${code}/stats`);
    return [totalClicks, suspiciousClicks, series.at(-1).clicks, series.at(-1).suspiciousClicks];
  };
  const expected = [sent + 1, sent - allowed, sent + 1, sent - allowed];
  expect(await numbers()).toEqual(expected);
  const { body } = await call('GET', `/api/v1/stats/links?codes=${code}`);
  expect(body.links).toMatchObject([{ clicks: sent + 1, suspiciousClicks: sent - allowed }]);
  const signals = linesOf(await exported(code)).map(({ signal }) => signal);
  expect(signals).toEqual([
    ...Array<string>(allowed).fill('none'),
    ...Array<string>(sent - allowed).fill('address'),
    'none',
  ]);
  await call('POST', '/api/v1/reconcile');
  expect(await numbers()).toEqual(expected);
  await until('all clicks', () => view.shown >= sent + 1);
  view.close();
  expect(view.clicks.slice(-2).map(({ signal }) => signal)).toEqual(['address', 'none']);
  const reported = async () => (await call('GET', '/metrics')).body as string;
  const suspicious = /^terse_clicks_suspicious_total\{reason="address"\} 10$/m;
  await until('the metric', async () => suspicious.test(await reported()));
});

test('while clicks come in, hours that are not settling add up, and in the end all hours are settled', async () => {
  // Long enough ago that its hours are over.
  const visited = await ClickedTerse.start(Date.now() - 5 * hourMs);
  try {
    const code = await visited.create();
    const visits = async () => {
      for (let visit = 0; visit < 600; visit += 1) {
        await visited.visit(code);
        if (visit % 60 === 0) visited.clock.advance(5 * 60_000);
        // Now and then everything is counted, so that both states are seen.
        if (visit % 100 === 99) await visited.counted();
      }
    };
    const from = new Date(Date.now() - 6 * hourMs).toISOString();
    const { faults, settled, settling } = await askWhile(visited.terse.url, from, visits());
    expect(faults).toEqual([]);
    expect([settled > 0, settling > 0]).toEqual([true, true]);
    await until('settled counts', async () => {
      const { body } = await visited.call('GET', `/api/v1/reconcile?from=${from}`);
      return !body.totals.settling && body.hours.every((row: { settling: boolean }) => !row.settling);
    });
  } finally {
    await visited.terse.stop();
  }
});

/** Every byte in the data folder, and the unpacked frames of the click log. */
function everythingKept(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(path => statSync(path).isFile());
  return Buffer.concat(
    files.flatMap(path => {
      const bytes = readFileSync(path);
      const unpacked: Uint8Array[] = [];
      for (let at = 0; path.endsWith('.log') && at < bytes.length; ) {
        const packedAt = at + 16;
        unpacked.push(
          Bun.zstdDecompressSync(bytes.subarray(packedAt, packedAt + bytes.readUInt32LE(at + 12))),
        );
        at += 12 + bytes.readUInt32LE(at + 4);
      }
      return [bytes, ...unpacked];
    }),
  );
}

test('no address of a visitor is on the disk or in the log', async () => {
  const code = await clicked.create();
  const addresses = ['93.184.216.34', '2a01:4f8:1234:5678::9abc'];
  for (const address of addresses) await clicked.visit(code, { address });
  await clicked.visit(code, { headers: agent('Mozilla/5.0 a trace that is kept'), address: addresses[0]! });
  await clicked.counted();
  const kept = everythingKept(clicked.terse.dataFolder);
  expect(kept.includes('a trace that is kept')).toBe(true);
  for (const address of [...addresses, '127.0.0.1', '5db8d822', '5678::9abc']) {
    expect([address, kept.includes(address)]).toEqual([address, false]);
    expect(clicked.terse.logged()).not.toContain(address);
  }
});
