/** Statistics of links: their content, by time and place, and who may see them. */
import { afterAll, describe, expect, test } from 'bun:test';
import { ClickedTerse } from '../kit/clicked-terse.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { addAccount } from '../kit/stored-rows.ts';
import { browser, program } from '../kit/visitors.ts';

/** In Berlin it is half past eleven, and the night after next the clocks go forward. */
const clicked = await ClickedTerse.start(Date.UTC(2026, 2, 27, 22, 30));
afterAll(() => clicked.terse.stop());
const { call, clock } = clicked;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const germanAddress = '91.12.34.56';
const tabletAgent =
  'Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';
const televisionAgent =
  'Mozilla/5.0 (SMART-TV; LINUX; Tizen 6.0) AppleWebKit/537.36 (KHTML, like Gecko) 76.0.3809.146/6.0 TV Safari/537.36';

const phone = {
  ...browser,
  'User-Agent':
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
};

describe('the statistics of a link', () => {
  test('have its clicks by visitor, origin and device', async () => {
    const code = await clicked.create();
    await clicked.visit(code);
    await clicked.visit(code);
    await clicked.visit(`${code}?utm_source=news&utm_campaign=Fr%C3%BChling`, {
      headers: {
        ...phone,
        Referer: 'https://www.news.example/today?secret=1',
        'Accept-Language': 'de-DE,de;q=0.9,en;q=0.8',
      },
      address: '8.8.8.8',
    });
    await clicked.visit(code, { headers: program });
    const at = clock.now();
    await clicked.counted();
    const stats = await clicked.stats(`/api/v1/links/${code}/stats`);
    const { series, ...rest } = stats;
    expect(rest).toEqual({
      minutesFrom: '2026-03-13T22:30:00.000Z',
      topLinks: [],
      from: '2026-02-26T00:00:00.000Z',
      to: '2026-03-28T00:00:00.000Z',
      interval: 'day',
      timeZone: 'UTC',
      totalClicks: 3,
      clicks24h: 3,
      uniqueVisitors: 2,
      botClicks: 1,
      suspiciousClicks: 0,
      range: { clicks: 3, botClicks: 1, suspiciousClicks: 0, visitors: 2 },
      filters: {},
      source: 'aggregates',
      coveredFrom: null,
      listsByDayUntil: null,
      comparison: null,
      topReferrers: [
        { value: '', clicks: 2 },
        { value: 'news.example', clicks: 1 },
      ],
      topCountries: [
        { value: 'DE', clicks: 2 },
        { value: 'US', clicks: 1 },
      ],
      devices: [
        { value: 'desktop', clicks: 2 },
        { value: 'mobile', clicks: 1 },
      ],
      browsers: [
        { value: 'Chrome', clicks: 2 },
        { value: 'Safari', clicks: 1 },
      ],
      os: [
        { value: 'Linux', clicks: 2 },
        { value: 'iOS', clicks: 1 },
      ],
      topRegions: [{ value: '', clicks: 3 }],
      topCities: [{ value: '', clicks: 3 }],
      topReferrerUrls: [
        { value: '', clicks: 2 },
        { value: 'https://www.news.example/today', clicks: 1 },
      ],
      languages: [
        { value: '', clicks: 2 },
        { value: 'de', clicks: 1 },
      ],
      utmSources: [
        { value: '', clicks: 2 },
        { value: 'news', clicks: 1 },
      ],
      utmMediums: [{ value: '', clicks: 3 }],
      utmCampaigns: [
        { value: '', clicks: 2 },
        { value: 'Frühling', clicks: 1 },
      ],
      utmTerms: [{ value: '', clicks: 3 }],
      utmContents: [{ value: '', clicks: 3 }],
      via: [{ value: '', clicks: 3 }],
      bots: [{ value: 'bot', clicks: 1 }],
      lastUpdatedAt: new Date(at).toISOString(),
    });
    expect(series).toHaveLength(30);
    expect(series.at(-1)).toEqual({
      start: '2026-03-27T00:00:00.000Z',
      clicks: 3,
      botClicks: 1,
      suspiciousClicks: 0,
      filling: true,
    });
    expect(series.slice(0, -1).every(({ clicks }: { clicks: number }) => clicks === 0)).toBe(true);
  });

  test('of a link that was never followed are zeros, not an error', async () => {
    const stats = await clicked.stats(`/api/v1/links/${await clicked.create()}/stats`);
    expect(stats).toMatchObject({ totalClicks: 0, uniqueVisitors: 0, topCountries: [], lastUpdatedAt: null });
  });

  test('come in minutes, hours and days of the caller’s time zone, also over a change of the clocks', async () => {
    const code = await clicked.create();
    // One click every two hours, for three days.
    const firstAt = clock.now();
    const clickedAt: number[] = [];
    for (let count = 0; count < 36; count += 1) {
      clickedAt.push(clock.now());
      await clicked.visit(code);
      clock.advance(2 * hourMs);
    }
    await clicked.counted();
    const to = clock.now();
    const ask = async (interval: string, timeZone: string, from = firstAt) => {
      const range = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;
      const { series } = await clicked.stats(
        `/api/v1/links/${code}/stats?interval=${interval}&timeZone=${timeZone}&${range}`,
      );
      return series as { start: string; clicks: number }[];
    };
    const countIn = (start: number, end: number): number =>
      clickedAt.filter(at => at >= start && at < end).length;

    for (const [timeZone, interval] of [
      ['UTC', 'day'],
      ['Europe/Berlin', 'day'],
      ['Asia/Kolkata', 'day'],
      ['America/New_York', 'day'],
      ['Asia/Kolkata', 'hour'],
      ['Europe/Berlin', 'hour'],
    ] as const) {
      const series = await ask(interval, timeZone);
      for (const [index, { start, clicks }] of series.entries()) {
        const end = series[index + 1]?.start ?? new Date(to + hourMs * 24).toISOString();
        expect([timeZone, start, clicks]).toEqual([
          timeZone,
          start,
          countIn(Date.parse(start), Date.parse(end)),
        ]);
      }
    }
    // The Sunday on which the clocks went forward had 23 hours.
    expect((await ask('day', 'Europe/Berlin')).map(({ start }) => start)).toEqual([
      '2026-03-26T23:00:00.000Z',
      '2026-03-27T23:00:00.000Z',
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
      '2026-03-30T22:00:00.000Z',
    ]);
    expect((await ask('hour', 'Asia/Kolkata'))[0]!.start).toBe('2026-03-27T22:30:00.000Z');
    const minutes = await ask('minute', 'UTC', to - 4 * hourMs);
    expect(minutes).toHaveLength(240);
    expect(minutes.filter(({ clicks }) => clicks > 0)).toHaveLength(2);
  });

  test('mark what may still grow: the buckets of the last two minutes', async () => {
    const code = await clicked.create();
    clock.advance(minuteMs - (clock.now() % minuteMs));
    await clicked.visit(code);
    clock.advance(1);
    await clicked.counted();
    const ask = async () => {
      const range = `from=${new Date(clock.now() - 6 * minuteMs).toISOString()}&interval=minute`;
      const { series } = await clicked.stats(`/api/v1/links/${code}/stats?${range}`);
      return series.map(({ clicks, filling }: { clicks: number; filling: boolean }) => [clicks, filling]);
    };
    expect(await ask()).toEqual([...[1, 2, 3, 4].map(() => [0, false]), [0, true], [0, true], [1, true]]);
    clock.advance(3 * minuteMs);
    expect((await ask()).at(3)).toEqual([1, false]);
  });
});

const rangeFrom = (fromMs: number, toMs: number): string =>
  `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`;
/** Advances the clock to the start of the next hour, and returns it. */
function nextHour(): number {
  clock.advance(hourMs - (clock.now() % hourMs));
  return clock.now();
}

describe('all numbers of an answer are of exactly its range', () => {
  test('two hours show the devices of those two hours only', async () => {
    const code = await clicked.create();
    const from = nextHour();
    const devices = [
      browser,
      phone,
      { ...browser, 'User-Agent': tabletAgent },
      { ...browser, 'User-Agent': televisionAgent },
    ];
    // One just before, one in each of the two hours, one just after.
    for (const [index, at] of [from - 1, from, from + 2 * hourMs - 1, from + 2 * hourMs].entries()) {
      clock.advance(at - clock.now());
      await clicked.visit(code, { headers: devices[index]! });
    }
    await clicked.counted();
    const stats = await clicked.stats(
      `/api/v1/links/${code}/stats?interval=hour&${rangeFrom(from, from + 2 * hourMs)}`,
    );
    expect(stats.devices).toEqual([
      { value: 'mobile', clicks: 1 },
      { value: 'tablet', clicks: 1 },
    ]);
    expect(stats).toMatchObject({ totalClicks: 4, range: { clicks: 2 }, from: new Date(from).toISOString() });
    expect(stats.series.map(({ clicks }: { clicks: number }) => clicks)).toEqual([1, 1]);
    const all = await clicked.stats(`/api/v1/links/${code}/stats`);
    expect(all.devices).toHaveLength(4);
  });

  test('a day in Kathmandu is the day there, with its countries', async () => {
    const code = await clicked.create();
    // A quarter past six in the evening is midnight in Kathmandu.
    const hour = nextHour();
    const midnight = hour + ((((18.25 * hourMs - hour) % dayMs) + dayMs) % dayMs);
    for (const [at, address] of [
      [midnight - 1, '8.8.8.8'],
      [midnight, germanAddress],
      [midnight + dayMs - 1, germanAddress],
      [midnight + dayMs, '8.8.8.8'],
    ] as const) {
      clock.advance(at - clock.now());
      await clicked.visit(code, { address });
    }
    await clicked.counted();
    const stats = await clicked.stats(
      `/api/v1/links/${code}/stats?timeZone=Asia/Kathmandu&${rangeFrom(midnight + hourMs, midnight + 2 * hourMs)}`,
    );
    expect(stats).toMatchObject({
      from: new Date(midnight).toISOString(),
      to: new Date(midnight + dayMs).toISOString(),
      range: { clicks: 2 },
      topCountries: [{ value: 'DE', clicks: 2 }],
      series: [{ start: new Date(midnight).toISOString(), clicks: 2 }],
    });
  });
});

describe('filters', () => {
  test('show the mobile visitors from Germany of last week', async () => {
    const key = addAccount(clicked.terse.dataFolder, 'filterer');
    const code = await clicked.create({}, key);
    const other = await clicked.create({}, key);
    const visits = [
      { headers: phone, address: germanAddress },
      { headers: phone, address: germanAddress },
      { headers: phone, address: '91.12.34.57' },
      { headers: phone, address: '8.8.8.8' },
      { headers: browser, address: germanAddress },
    ];
    await clicked.visit(code, visits[0]);
    clock.advance(10 * dayMs);
    for (const visit of visits) await clicked.visit(code, visit);
    await clicked.visit(other, visits[0]);
    await clicked.counted();
    const lastWeek = `from=${new Date(clock.now() - 7 * dayMs).toISOString()}`;
    const ask = async (path: string, query: string) =>
      (await call('GET', `${path}?${lastWeek}&${query}`, { key })).body;
    const path = `/api/v1/links/${code}/stats`;
    const stats = await ask(path, 'country=DE&device=mobile');
    expect(stats).toMatchObject({
      range: { clicks: 3, visitors: 2 },
      totalClicks: 6,
      clicks24h: 5,
      devices: [{ value: 'mobile', clicks: 3 }],
      topCountries: [{ value: 'DE', clicks: 3 }],
      filters: {
        country: { values: ['DE'], excluded: false },
        device: { values: ['mobile'], excluded: false },
      },
      source: 'clicks',
      coveredFrom: null,
    });
    const clicksOf = async (query: string): Promise<number> => (await ask(path, query)).range.clicks;
    expect(await clicksOf('country=!DE')).toBe(1);
    expect(await clicksOf('country=DE,US')).toBe(5);
    expect(await clicksOf('country=!DE,US')).toBe(0);
    expect(await clicksOf('referrer=')).toBe(5);
    expect(await clicksOf('referrer=!')).toBe(0);
    expect((await ask('/api/v1/stats', 'country=DE&device=mobile')).range.clicks).toBe(4);
    expect((await ask('/api/v1/stats', `link=${other}`)).range.clicks).toBe(1);
    const top = await ask('/api/v1/stats/link', 'country=DE&device=mobile');
    expect(top.values).toEqual([
      { value: code, clicks: 3 },
      { value: other, clicks: 1 },
    ]);
  });

  test('are accepted, answered and rejected in the style of the request', async () => {
    const code = await clicked.create();
    const { body } = await call('GET', `/api/v1/links/${code}/stats?utm_source=news`);
    expect(body).toMatchObject({ total_clicks: 0, filters: { utm_source: { values: ['news'] } } });
    const path = `/api/v1/links/${code}/stats/utm_source?time_zone=UTC`;
    expect((await call('GET', path)).body).toMatchObject({ values: [], next_cursor: null });
    const refused = await call('GET', `/api/v1/links/${code}/stats?utm_sorce=news&time_zone=UTC`);
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.detail).toContain('did you mean “utm_source”?');
    const tooLong = await call('GET', `/api/v1/links/${code}/stats?utm_source=${'x'.repeat(201)}`);
    expect(tooLong.body).toMatchObject({ status: 400, field: 'utm_source' });
  });
});

test('a comparison is with the buckets just before, or with any others', async () => {
  const code = await clicked.create();
  const start = nextHour();
  for (const hours of [0, 1, 1, 2, 3, 3]) {
    clock.advance(start + hours * hourMs - clock.now());
    await clicked.visit(code);
  }
  await clicked.counted();
  const path = `/api/v1/links/${code}/stats?interval=hour&${rangeFrom(start + 2 * hourMs, start + 4 * hourMs)}`;
  const clicksIn = (series: { clicks: number }[]) => series.map(({ clicks }) => clicks);
  const { range, comparison } = await clicked.stats(`${path}&compare=previous`);
  expect(range.clicks).toBe(3);
  expect(comparison).toMatchObject({
    from: new Date(start).toISOString(),
    to: new Date(start + 2 * hourMs).toISOString(),
    clicks: 3,
    botClicks: 0,
    suspiciousClicks: 0,
    visitors: 1,
  });
  expect(clicksIn(comparison.series)).toEqual([1, 2]);
  const other = await clicked.stats(
    `${path}&compareFrom=${new Date(start).toISOString()}&compareTo=${new Date(start + hourMs).toISOString()}`,
  );
  expect(clicksIn(other.comparison.series)).toEqual([1]);
  const lastYear = await clicked.stats(`${path}&compare=year`);
  expect(lastYear.comparison).toMatchObject({ clicks: 0, visitors: 0 });
  expect(clicksIn(lastYear.comparison.series)).toEqual([0, 0]);
});

test('all values of a dimension come in pages, which can be searched', async () => {
  const code = await clicked.create();
  for (let n = 0; n < 7; n += 1) {
    const Referer = `https://site${n}.example/page`;
    for (let again = 0; again <= n % 2; again += 1) {
      await clicked.visit(code, { headers: { ...browser, Referer } });
    }
  }
  await clicked.counted();
  const path = `/api/v1/links/${code}/stats/referrer?limit=3`;
  const pages: { value: string; clicks: number }[][] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page = await clicked.stats(cursor === '' ? path : `${path}&cursor=${cursor}`);
    expect(page.total).toBe(7);
    pages.push(page.values);
    cursor = page.nextCursor;
  }
  expect(pages.map(values => values.map(({ value, clicks }) => `${value} ${clicks}`))).toEqual([
    ['site1.example 2', 'site3.example 2', 'site5.example 2'],
    ['site0.example 1', 'site2.example 1', 'site4.example 1'],
    ['site6.example 1'],
  ]);
  const found = await clicked.stats(`${path}&search=SITE5`);
  expect(found).toMatchObject({
    values: [{ value: 'site5.example', clicks: 2 }],
    total: 1,
    nextCursor: null,
  });
  const unknown = await call('GET', `/api/v1/links/${code}/stats/referer`);
  expectProblem(unknown, 404, 'not_found');
  expect(unknown.body.detail).toContain('did you mean “referrer”?');
});

test('93 days of hours are the most that a series has, counted after the range was widened to whole ones', async () => {
  const code = await clicked.create();
  const hourMs = 60 * minuteMs;
  const ask = (hours: number) => {
    const to = clock.now() - (clock.now() % hourMs) - hourMs / 2;
    const range = `from=${new Date(to - hours * hourMs).toISOString()}&to=${new Date(to).toISOString()}`;
    return call('GET', `/api/v1/links/${code}/stats?interval=hour&${range}`);
  };
  expectProblem(await ask(93 * 24), 400, 'invalid_request');
  const widest = await ask(93 * 24 - 1);
  expect(widest.status).toBe(200);
  expect(widest.body.series).toHaveLength(93 * 24);
});

describe('statistics of several links', () => {
  test('are added up by account, by tag and by a list; visitors are merged', async () => {
    const key = addAccount(clicked.terse.dataFolder, 'adder');
    const [tagged, alsoTagged, plain] = [
      await clicked.create({ tags: ['spring'] }, key),
      await clicked.create({ tags: ['spring', 'mail'] }, key),
      await clicked.create({}, key),
    ];
    for (const code of [tagged, tagged, alsoTagged, plain]) await clicked.visit(code);
    await clicked.counted();
    const ask = async (query: string) => {
      const { totalClicks, uniqueVisitors } = (await call('GET', `/api/v1/stats${query}`, { key })).body;
      return { totalClicks, uniqueVisitors };
    };
    expect(await ask('')).toEqual({ totalClicks: 4, uniqueVisitors: 1 });
    expect(await ask('?tag=spring')).toEqual({ totalClicks: 3, uniqueVisitors: 1 });
    expect(await ask('?tag=mail')).toEqual({ totalClicks: 1, uniqueVisitors: 1 });
    expect(await ask('?tag=none')).toEqual({ totalClicks: 0, uniqueVisitors: 0 });
    expect(await ask(`?codes=${tagged},${plain}`)).toEqual({ totalClicks: 3, uniqueVisitors: 1 });
    // The admin's numbers are the admin's own.
    expect((await clicked.stats('/api/v1/stats?tag=spring')).totalClicks).toBe(0);
  });
});

describe('who may see the statistics', () => {
  const foreignKey = addAccount(clicked.terse.dataFolder, 'foreigner');
  const paths = (code: string) => [
    `/api/v1/links/${code}/stats`,
    `/api/v1/links/${code}/stats?interval=hour`,
    `/api/v1/links/${code}/stats?country=DE`,
    `/api/v1/links/${code}/stats/country`,
  ];

  test('only the owner, and others cannot tell a private link from a missing one', async () => {
    const code = await clicked.create();
    for (const key of [undefined, foreignKey]) {
      for (const [index, path] of paths(code).entries()) {
        const [hidden, missing] = [
          await call('GET', path, { key }),
          await call('GET', paths('no-such-link')[index]!, { key }),
        ];
        expectProblem(hidden, 404, 'not_found');
        expect(hidden.body).toEqual(missing.body);
        expect([...hidden.headers.keys()]).toEqual([...missing.headers.keys()]);
      }
    }
    for (const path of [`/api/v1/links/${code}/clicks`, `/api/v1/links/${code}/live`]) {
      expectProblem(await call('GET', path, { key: undefined }), 401, 'unauthorized');
      const hidden = await call('GET', path, { key: foreignKey });
      expectProblem(hidden, 404, 'not_found');
      const missing = await call('GET', path.replace(code, 'no-such-link'), { key: foreignKey });
      expect(hidden.body).toEqual(missing.body);
    }
    expectProblem(
      await call('DELETE', `/api/v1/links/${code}/clicks`, { key: foreignKey }),
      404,
      'not_found',
    );
    expectProblem(await call('GET', `/api/v1/stats?codes=${code}`, { key: foreignKey }), 404, 'not_found');
    for (const path of ['/api/v1/stats', '/api/v1/stats/link'])
      expectProblem(await call('GET', path, { key: undefined }), 401, 'unauthorized');
    expectProblem(await call('GET', '/api/v1/reconcile', { key: foreignKey }), 403, 'forbidden');
    expectProblem(await call('POST', '/api/v1/reconcile', { key: foreignKey }), 403, 'forbidden');
  });

  test('all clients, where the owner made them public; single clicks stay the owner’s', async () => {
    const code = await clicked.create({ publicStats: true });
    await clicked.visit(code);
    await clicked.counted();
    for (const key of [undefined, foreignKey]) {
      const { status, body } = await call('GET', `/api/v1/links/${code}/stats`, { key });
      expect([status, body.totalClicks]).toEqual([200, 1]);
      const listed = await call('GET', `/api/v1/links/${code}/stats/country`, { key });
      expect(listed.body.values).toEqual([{ value: 'DE', clicks: 1 }]);
    }
    expectProblem(await call('GET', `/api/v1/links/${code}/clicks`, { key: foreignKey }), 404, 'not_found');
    expectProblem(await call('GET', `/api/v1/links/${code}/live`, { key: foreignKey }), 404, 'not_found');
    await call('PATCH', `/api/v1/links/${code}`, { body: { publicStats: false } });
    expectProblem(await call('GET', `/api/v1/links/${code}/stats`, { key: undefined }), 404, 'not_found');
    await call('PATCH', `/api/v1/links/${code}`, { body: { publicStats: true } });
    await call('DELETE', `/api/v1/links/${code}`);
    expectProblem(await call('GET', `/api/v1/links/${code}/stats`, { key: undefined }), 404, 'not_found');
    expectProblem(await call('GET', `/api/v1/links/${code}/stats`), 410, 'link_deleted');
  });

  test('people with a token, until it ends or the owner revokes it', async () => {
    const code = await clicked.create();
    await clicked.visit(code);
    await clicked.counted();
    const share = async (forMs: number): Promise<string> => {
      const expiresAt = new Date(clock.now() + forMs).toISOString();
      const { status, body } = await call('POST', `/api/v1/links/${code}/stats-tokens`, {
        body: { expiresAt },
      });
      expect([status, body.expiresAt, body.link.shortCode]).toEqual([201, expiresAt, code]);
      return body.token;
    };
    const seen = async (token: string, of = code): Promise<number> =>
      (await call('GET', `/api/v1/links/${of}/stats?token=${token}`, { key: undefined })).status;
    const [short, long] = [await share(hourMs), await share(dayMs)];
    expect(await Promise.all([short, long].map(token => seen(token)))).toEqual([200, 200]);
    const country = `/api/v1/links/${code}/stats/country?token=${long}`;
    expect((await call('GET', country, { key: undefined })).body.values).toEqual([
      { value: 'DE', clicks: 1 },
    ]);
    expect(await seen(long, await clicked.create())).toBe(404);
    const filtered = `/api/v1/links/${code}/stats?token=${long}&country=DE`;
    expectProblem(await call('GET', filtered, { key: undefined }), 404, 'not_found');
    clock.advance(hourMs);
    expect(await Promise.all([short, long].map(token => seen(token)))).toEqual([404, 200]);
    await call('PATCH', `/api/v1/links/${code}`, { body: { title: 'An edit revokes nothing' } });
    expect(await seen(long)).toBe(200);
    const { body } = await call('PATCH', `/api/v1/links/${code}`, { body: { statsTokensFrom: null } });
    expect([body.statsTokensFrom, await seen(long)]).toEqual([null, 404]);
    clock.advance(1);
    const again = await share(dayMs);
    expect(await Promise.all([long, again].map(token => seen(token)))).toEqual([404, 200]);
    expectProblem(
      await call('POST', `/api/v1/links/${code}/stats-tokens`, { body: { expiresAt: '2020-01-01' } }),
      400,
      'invalid_expiry',
    );
  });
});

test.each([
  'interval=week',
  'interval=',
  'timeZone=Mars/Olympus',
  'timeZone=',
  'timeZone=%2B01:07',
  'timeZone=%2B01:00',
  'from=yesterday',
  'from=2026-02-30',
  'from=2026-02-30T00:00:00Z',
  'to=',
  'from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z',
  'from=2026-03-02T00:00:00Z&to=2026-03-02T00:00:00Z',
  'from=1970-01-01T00:00:00Z&interval=minute',
  'from=1970-01-01T00:00:00Z&interval=hour',
  'interval=day&interval=hour',
  'unknown=1',
  'contry=DE',
  `city=${'x'.repeat(201)}`,
  `city=${Array.from({ length: 51 }, (_, n) => n)}`,
  'country=%00',
  'country=DE&country=FR',
  'compare=week',
  'compareFrom=2026-03-01',
  'compareFrom=2026-03-02&compareTo=2026-03-01',
  'compare=previous&compareFrom=2026-03-01&compareTo=2026-03-02',
])('the query ?%s is rejected with a reason', async query => {
  const code = await clicked.create();
  expectProblem(await call('GET', `/api/v1/links/${code}/stats?${query}`), 400, 'invalid_request');
  expectProblem(await call('GET', `/api/v1/stats?${query}`), 400, 'invalid_request');
});

test.each([
  'codes=',
  'codes=a,,b',
  'codes=a/b',
  `codes=${Array(101)
    .fill(0)
    .map((_, n) => `c${n}`)}`,
  'tag=',
  'codes=a&tag=b',
])('the query /stats?%s is rejected with a reason', async query => {
  expectProblem(await call('GET', `/api/v1/stats?${query}`), 400, 'invalid_request');
});
