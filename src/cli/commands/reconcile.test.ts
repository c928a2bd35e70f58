import { describe, expect, test } from 'bun:test';
import { fakeApi } from '../fake-api.ts';
import { isOfWholeDays, parseSpan } from './clicks.ts';

const api = fakeApi();

const account = {
  produced: 10,
  recorded: 7,
  dropped: 1,
  duplicates: 0,
  missing: 2,
  pending: 0,
  settling: true,
};
const reconciliation = {
  drift: 0.3,
  totals: account,
  producers: [{ producer: 'p1', alive: false, ...account }],
  hours: [
    {
      hour: '2026-06-01T10:00:00.000Z',
      producer: 'p1',
      recorded: 7,
      dropped: 1,
      duplicates: 0,
      missing: 2,
      settling: true,
    },
  ],
};
const comparison = {
  hours: [
    {
      hour: '2026-06-01T10:00:00.000Z',
      noted: 100,
      dropped: 0,
      missing: 0,
      recorded: 100,
      counted: 95,
      kept: null,
      inStream: 100,
      uncounted: 0,
      settling: true,
      drift: 0.05,
    },
  ],
};

describe('terse reconcile', () => {
  test('accounts for every click by producer or by hour', async () => {
    api.answer = () => Response.json(reconciliation);
    const { stdout } = await api.terse(['reconcile']);
    expect(stdout).toMatch(/PRODUCED +RECORDED +DROPPED +MISSING/);
    expect(stdout).toMatch(/10 +7 +1 +2 +0 +0 +ended settling +p1/);
    expect(stdout).toContain('drift 30.0000%, without 1 hour still settling');
    expect((await api.terse(['reconcile', '--hours'])).stdout).toMatch(
      /2026-06-01T10 +7 +1 +2 +0 +settling +p1/,
    );
    expect(JSON.parse((await api.terse(['reconcile', '--json'])).stdout)).toEqual(reconciliation);
    await api.terse(['reconcile', '--repair']);
    expect(api.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /api/v1/reconcile',
      'GET /api/v1/reconcile',
      'GET /api/v1/reconcile',
      'POST /api/v1/reconcile',
    ]);
  });

  test('repairs an hour, reports its clicks and that its day was recounted', async () => {
    api.answer = () => Response.json({ ...reconciliation, repairedClicks: 7 });
    const { stdout } = await api.terse(['reconcile', '--repair', '2026-06-01T10']);
    expect(stdout).toContain('recounted 7 clicks\ncounts are kept by the day');
    expect(api.requests[0]).toMatchObject({
      method: 'POST',
      path: '/api/v1/reconcile?from=2026-06-01T10%3A00%3A00.000Z&to=2026-06-01T11%3A00%3A00.000Z',
    });
  });

  test('repairs a day', async () => {
    api.answer = () => Response.json({ ...reconciliation, repairedClicks: 7 });
    const { stdout } = await api.terse(['reconcile', '2026-06-01', '--repair']);
    expect(stdout).toContain('recounted 7 clicks\n');
    expect(stdout).not.toContain('kept by the day');
    expect(api.requests[0]?.path).toContain('to=2026-06-02T00%3A00%3A00.000Z');
  });

  test('compares the counts of hours, and reads the stream only when asked', async () => {
    api.answer = () => Response.json(comparison);
    const { stdout } = await api.terse(['reconcile', '--compare']);
    expect(stdout).toMatch(/HOUR +PRODUCED +RECORDED +COUNTED +STORED +STREAM +UNCOUNTED +DRIFT/);
    expect(stdout).toMatch(/2026-06-01T10 +100 +100 +95 +- +100 +0 +5\.0000% settling/);
    await api.terse(['reconcile', '2026-06-01', '--stream', '--json']);
    expect(api.requests.map(({ path }) => path)).toEqual([
      '/api/v1/reconcile/hours',
      '/api/v1/reconcile/hours?stream=true&from=2026-06-01T00%3A00%3A00.000Z&to=2026-06-02T00%3A00%3A00.000Z',
    ]);
  });

  test('an invalid span is rejected before any request', async () => {
    api.answer = () => Response.json(reconciliation);
    const { stderr, exitCode } = await api.terse(['reconcile', '--repair', 'yesterday']);
    expect([exitCode, api.requests.length]).toEqual([2, 0]);
    expect(stderr).toContain('must be an hour such as 2026-11-01T10');
    expect((await api.terse(['reconcile', '--repair', '--compare'])).exitCode).toBe(2);
  });
});

const at = Date.UTC;
const now = at(2026, 10, 16, 9, 30);

test.each([
  ['2026-11-01T10', at(2026, 10, 1, 10), at(2026, 10, 1, 11)],
  ['2026-11-01T10:00Z', at(2026, 10, 1, 10), at(2026, 10, 1, 11)],
  ['2026-11-01T10:00:00.000Z', at(2026, 10, 1, 10), at(2026, 10, 1, 11)],
  ['2026-11-01', at(2026, 10, 1), at(2026, 10, 2)],
  ['2026-11-01..2026-11-03', at(2026, 10, 1), at(2026, 10, 4)],
  ['2026-11-01T22..2026-11-02T01', at(2026, 10, 1, 22), at(2026, 10, 2, 2)],
  ['2026-11-16T07..', at(2026, 10, 16, 7), at(2026, 10, 16, 10)],
])('%s is parsed into hours', (text, from, to) => {
  expect(parseSpan(text, now)).toEqual({ from, to });
});

test.each([
  'yesterday',
  '',
  '2026-11',
  '2026-02-30',
  '2026-11-01T24',
  '2026-11-01T10:30',
  '..2026-11-01',
  '2026-11-02..2026-11-01',
  '2026-12-01..',
])('“%s” is rejected', text => {
  expect(() => parseSpan(text, now)).toThrow(/must be an hour|ends before it begins/);
});

test('whole days are distinguished from hours', () => {
  expect(isOfWholeDays(parseSpan('2026-11-01..2026-11-03', now))).toBe(true);
  expect(isOfWholeDays(parseSpan('2026-11-01T10', now))).toBe(false);
});
