import { describe, expect, test } from 'bun:test';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();

const stats = {
  from: '2026-06-01T00:00:00.000Z',
  to: '2026-06-03T00:00:00.000Z',
  interval: 'day',
  timeZone: 'UTC',
  totalClicks: 30,
  botClicks: 4,
  uniqueVisitors: 12,
  clicks24h: 20,
  series: [
    { start: '2026-06-01T00:00:00.000Z', clicks: 10, botClicks: 0, filling: false },
    { start: '2026-06-02T00:00:00.000Z', clicks: 20, botClicks: 4, filling: true },
  ],
  topReferrers: [
    { value: '', clicks: 25 },
    { value: 'evil\u001b[31m.example', clicks: 5 },
  ],
  topCountries: [{ value: 'DE', clicks: 30 }],
  devices: [],
  browsers: [{ value: 'Firefox', clicks: 30 }],
  os: [],
  lastUpdatedAt: null,
};

const account = { produced: 10, recorded: 7, dropped: 1, duplicates: 0, missing: 2, pending: 0 };
const reconciliation = {
  drift: 0.3,
  totals: account,
  producers: [{ producer: 'p1', alive: false, ...account }],
  hours: [
    { hour: '2026-06-01T10:00:00.000Z', producer: 'p1', recorded: 7, dropped: 1, duplicates: 0, missing: 2 },
  ],
};

describe('terse stats', () => {
  test('shows totals, a bar per bucket and where clicks came from, with strangers’ text made harmless', async () => {
    api.answer = () => Response.json(stats);
    const { stdout, exitCode } = await api.terse([
      'stats',
      'abc',
      '--interval',
      'day',
      '--time-zone',
      'Europe/Berlin',
    ]);
    expect(exitCode).toBe(0);
    expect(api.requests[0]?.path).toBe('/api/v1/links/abc/stats?interval=day&timeZone=Europe%2FBerlin');
    expect(stdout).toContain('30 clicks by 12 visitors, 4 by bots; 20 in the last 24 hours');
    expect(stdout).toContain(`2026-06-01 00:00  10  ${'█'.repeat(20)}\n`);
    expect(stdout).toContain(`2026-06-02 00:00  20  ${'█'.repeat(40)}…`);
    expect(stdout).toMatch(/Referrers +direct 25, evil/);
    expect(stdout).not.toContain('\u001b');
  });

  test('without a code it is about all links, or a tag', async () => {
    api.answer = () => Response.json(stats);
    await api.terse(['stats', '--tag', 'spring']);
    expect(api.requests[0]?.path).toBe('/api/v1/stats?tag=spring');
  });

  test('--json gives the API’s own answer', async () => {
    api.answer = () => Response.json(stats);
    expect(JSON.parse((await api.terse(['stats', 'abc', '--json'])).stdout)).toEqual(stats);
  });
});

describe('terse reconcile', () => {
  test('accounts for every click by producer or by hour', async () => {
    api.answer = () => Response.json(reconciliation);
    const { stdout } = await api.terse(['reconcile']);
    expect(stdout).toMatch(/PRODUCED +RECORDED +DROPPED +MISSING/);
    expect(stdout).toMatch(/10 +7 +1 +2 +0 +0 +ended +p1/);
    expect(stdout).toContain('drift 30.0000%');
    expect((await api.terse(['reconcile', '--hours'])).stdout).toMatch(/2026-06-01T10 +7 +1 +2 +0 +p1/);
    expect(JSON.parse((await api.terse(['reconcile', '--json'])).stdout)).toEqual(reconciliation);
    await api.terse(['reconcile', '--repair']);
    expect(api.requests.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET', 'POST']);
  });
});
