/** Routes that mainly the dashboard uses: aliases while typing, totals per link, top links, status. */
import { afterAll, describe, expect, test } from 'bun:test';
import { ClickedTerse } from '../kit/clicked-terse.ts';
import { program } from '../kit/visitors.ts';

const clicked = await ClickedTerse.start(Date.UTC(2026, 5, 15, 12));
afterAll(() => clicked.terse.stop());
const { call } = clicked;

describe('the check of an alias', () => {
  const ask = async (alias: string) => (await call('GET', `/api/v1/aliases/${alias}`)).body;

  test('an unused one is free, and still is after the check', async () => {
    expect(await ask('free-one')).toEqual({ alias: 'free-one', available: true, code: null, reason: null });
    await clicked.create({ customAlias: 'free-one' });
  });

  test('one that belongs or belonged to a link is taken', async () => {
    await clicked.create({ customAlias: 'was-here' });
    expect(await ask('was-here')).toMatchObject({ available: false, code: 'alias_taken' });
    await call('DELETE', '/api/v1/links/was-here');
    expect(await ask('was-here')).toMatchObject({ available: false, code: 'alias_taken' });
  });

  test('a reserved word is not, and the answer says so', async () => {
    expect(await ask('dashboard')).toMatchObject({
      available: false,
      code: 'alias_reserved',
      reason: 'This alias is reserved.',
    });
  });

  test('a generated code is taken, as it is for creating', async () => {
    const code = await clicked.create();
    expect(await ask(code)).toMatchObject({ available: false });
    const { status } = await call('POST', '/api/v1/links', {
      body: { longUrl: 'https://example.com/', customAlias: code },
    });
    expect(status).toBe(409);
  });
});

describe('totals of several links', () => {
  test('come in the requested order, without deleted links', async () => {
    const [first, second, gone] = [await clicked.create(), await clicked.create(), await clicked.create()];
    await clicked.visit(second!);
    await clicked.visit(second!, { headers: program });
    await clicked.counted();
    await call('DELETE', `/api/v1/links/${gone}`);
    const { body } = await call('GET', `/api/v1/stats/links?codes=${second},${gone},${first},no-such`);
    expect(body.links).toEqual([
      {
        shortCode: second,
        clicks: 1,
        botClicks: 1,
        suspiciousClicks: 0,
        lastClickAt: '2026-06-15T12:00:00.000Z',
      },
      { shortCode: first, clicks: 0, botClicks: 0, suspiciousClicks: 0, lastClickAt: null },
    ]);
  });

  test('have the clicks of each of the last days, by the days of the time zone', async () => {
    const [first, second] = [await clicked.create(), await clicked.create()];
    await clicked.visit(first!);
    await clicked.visit(first!, { headers: program });
    await clicked.visit(second!);
    await clicked.counted();
    for (const zone of ['UTC', 'Pacific/Kiritimati', 'America/Adak']) {
      const { body } = await call(
        'GET',
        `/api/v1/stats/links?codes=${second},${first}&days=9&timeZone=${zone}`,
      );
      for (const { shortCode, daily } of body.links) {
        const stats = await clicked.stats(`/api/v1/links/${shortCode}/stats?timeZone=${zone}`);
        expect(daily).toEqual(stats.series.slice(-9).map(({ clicks }: { clicks: number }) => clicks));
        expect(daily.at(-1)).toBe(1);
      }
    }
  });
});

describe('the most clicked links', () => {
  test('of an account and of a tag are in their statistics, people only', async () => {
    const [loud, quiet] = [
      await clicked.create({ tags: ['ranked'] }),
      await clicked.create({ tags: ['ranked'] }),
    ];
    for (const code of [loud, quiet, loud]) await clicked.visit(code);
    await clicked.visit(quiet, { headers: program });
    await clicked.counted();
    const { topLinks } = await clicked.stats('/api/v1/stats?tag=ranked');
    expect(topLinks).toEqual([
      { value: loud, clicks: 2 },
      { value: quiet, clicks: 1 },
    ]);
    expect((await clicked.stats('/api/v1/stats')).topLinks).toContainEqual({ value: loud, clicks: 2 });
  });

  test('are not in the statistics of a single link', async () => {
    const code = await clicked.create();
    await clicked.visit(code);
    await clicked.counted();
    expect((await clicked.stats(`/api/v1/links/${code}/stats`)).topLinks).toEqual([]);
  });
});

describe('the status of the process', () => {
  test('has the numbers of a scrape, since when it counts, and which parts work', async () => {
    const { body } = await call('GET', '/api/v1/status');
    expect(body).toMatchObject({ at: '2026-06-15T12:00:00.000Z', parts: { links: true } });
    const { body: scrape } = await call('GET', '/metrics');
    const names = body.metrics.map(({ name }: { name: string }) => name);
    expect(names).toContain('kgs_available_keys');
    // A histogram is described once for all its parts.
    for (const name of names)
      expect(scrape).toContain(`# TYPE ${name.replace(/_(?:bucket|sum|count)$/, '')} `);
  });
});
