import { describe, expect, test } from 'bun:test';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();

const account = { produced: 10, recorded: 7, dropped: 1, duplicates: 0, missing: 2, pending: 0 };
const reconciliation = {
  drift: 0.3,
  totals: account,
  producers: [{ producer: 'p1', alive: false, ...account }],
  hours: [
    { hour: '2026-06-01T10:00:00.000Z', producer: 'p1', recorded: 7, dropped: 1, duplicates: 0, missing: 2 },
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
      filling: false,
      drift: 0.05,
    },
  ],
};

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
    expect(api.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /api/v1/reconcile',
      'GET /api/v1/reconcile',
      'GET /api/v1/reconcile',
      'POST /api/v1/reconcile',
    ]);
  });

  test('repairs an hour, says how many clicks it has and what an hour leaves as it is', async () => {
    api.answer = () => Response.json({ ...reconciliation, repairedClicks: 7 });
    const { stdout } = await api.terse(['reconcile', '--repair', '2026-06-01T10']);
    expect(stdout).toContain('counted 7 clicks anew\nlists of countries');
    expect(api.requests[0]).toMatchObject({
      method: 'POST',
      path: '/api/v1/reconcile?from=2026-06-01T10%3A00%3A00.000Z&to=2026-06-01T11%3A00%3A00.000Z',
    });
  });

  test('repairs a day with all its lists', async () => {
    api.answer = () => Response.json({ ...reconciliation, repairedClicks: 7 });
    const { stdout } = await api.terse(['reconcile', '2026-06-01', '--repair']);
    expect(stdout).toContain('counted 7 clicks anew\n');
    expect(stdout).not.toContain('lists of countries');
    expect(api.requests[0]?.path).toContain('to=2026-06-02T00%3A00%3A00.000Z');
  });

  test('holds the numbers of hours against each other, and reads the stream only when asked', async () => {
    api.answer = () => Response.json(comparison);
    const { stdout } = await api.terse(['reconcile', '--compare']);
    expect(stdout).toMatch(/HOUR +NOTED +RECORDED +COUNTED +KEPT +STREAM +UNCOUNTED +DRIFT/);
    expect(stdout).toMatch(/2026-06-01T10 +100 +100 +95 +- +100 +0 +5\.0000%/);
    await api.terse(['reconcile', '2026-06-01', '--stream', '--json']);
    expect(api.requests.map(({ path }) => path)).toEqual([
      '/api/v1/reconcile/hours',
      '/api/v1/reconcile/hours?stream=true&from=2026-06-01T00%3A00%3A00.000Z&to=2026-06-02T00%3A00%3A00.000Z',
    ]);
  });

  test('a span that is none is refused before anything is asked', async () => {
    api.answer = () => Response.json(reconciliation);
    const { stderr, exitCode } = await api.terse(['reconcile', '--repair', 'yesterday']);
    expect([exitCode, api.requests.length]).toEqual([2, 0]);
    expect(stderr).toContain('must be an hour such as 2026-11-01T10');
    expect((await api.terse(['reconcile', '--repair', '--compare'])).exitCode).toBe(2);
  });
});
