import { describe, expect, test } from 'bun:test';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();

const stats = {
  from: '2026-06-01T00:00:00.000Z',
  to: '2026-06-03T00:00:00.000Z',
  interval: 'day',
  timeZone: 'UTC',
  totalClicks: 99,
  botClicks: 9,
  suspiciousClicks: 0,
  uniqueVisitors: 12,
  clicks24h: 20,
  range: { clicks: 30, botClicks: 4, suspiciousClicks: 0, visitors: 12 },
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
  filters: {},
  source: 'aggregates',
  coveredFrom: null,
  listsByDayUntil: null,
  comparison: null,
  lastUpdatedAt: null,
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
    expect(stdout).toContain('30 clicks by 12 visitors, 4 by bots; 20 in the last 24 hours, 99 of all time');
    expect(stdout).toContain(`2026-06-01 00:00  10  ${'█'.repeat(20)}\n`);
    expect(stdout).toContain(`2026-06-02 00:00  20  ${'█'.repeat(40)}…`);
    expect(stdout).toMatch(/Referrers +direct 25, evil/);
    expect(stdout).not.toContain('\u001b');
  });

  test('says how many clicks are suspicious, when some are', async () => {
    api.answer = () => Response.json({ ...stats, range: { ...stats.range, suspiciousClicks: 7 } });
    const { stdout } = await api.terse(['stats', 'abc']);
    expect(stdout).toContain('30 clicks by 12 visitors (7 of them suspicious), 4 by bots');
  });

  test('without a code it is about all links, or a tag', async () => {
    api.answer = () => Response.json(stats);
    await api.terse(['stats', '--tag', 'spring']);
    expect(api.requests[0]?.path).toBe('/api/v1/stats?tag=spring');
  });

  test('--filter, once for each dimension, and --compare are sent on', async () => {
    api.answer = () =>
      Response.json({
        ...stats,
        coveredFrom: '2026-06-01T06:00:00.000Z',
        comparison: {
          from: '2026-05-30T00:00:00.000Z',
          to: '2026-06-01T00:00:00.000Z',
          clicks: 7,
          visitors: 5,
          botClicks: 2,
          suspiciousClicks: 0,
          coveredFrom: null,
          series: [],
        },
      });
    const filters = ['--filter', 'country=DE,FR', '--filter=utmCampaign=a=b', '--filter', 'referrer='];
    const { stdout } = await api.terse(['stats', 'abc', ...filters, '--compare', 'previous']);
    expect(api.requests[0]?.path).toBe(
      '/api/v1/links/abc/stats?country=DE%2CFR&utmCampaign=a%3Db&referrer=&compare=previous',
    );
    expect(stdout).toContain('2026-05-30 00:00 to 2026-06-01 00:00: 7 clicks by 5 visitors, 2 by bots\n');
    expect(stdout).toContain('Clicks before 2026-06-01 06:00 are not included');
  });

  test.each([
    [['--filter', 'country'], 'write --filter country=DE'],
    [['--filter', '=DE'], 'write --filter country=DE'],
    [['--filter', 'os=iOS', '--filter', 'os=Linux'], 'separate its values with commas'],
    [['--tag', 'a', '--tag', 'b'], '--tag is set twice'],
  ])('%j is not a filter', async (options, words) => {
    const { exitCode, stderr } = await api.terse(['stats', ...options]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(words);
    expect(api.requests).toHaveLength(0);
  });

  test('--json gives the API’s own answer', async () => {
    api.answer = () => Response.json(stats);
    expect(JSON.parse((await api.terse(['stats', 'abc', '--json'])).stdout)).toEqual(stats);
  });
});
