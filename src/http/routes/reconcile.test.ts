import { beforeEach, describe, expect, test } from 'bun:test';
import { fakeActor } from '../../accounts/fake-actors.ts';
import { ManualClock } from '../../base/clock.ts';
import type { Reply } from '../json-reply.ts';
import { compareParameters, repairParameters } from '../reconcile-schemas.ts';
import { RequestSpelling } from '../spellings.ts';
import { reconcileRoutes } from './reconcile.ts';

const now = Date.UTC(2026, 10, 16, 9, 30);
const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
const nothing = {
  producers: [],
  hours: [],
  totals: { produced: 0, recorded: 0, dropped: 0, duplicates: 0, missing: 0, pending: 0, settling: false },
  drift: 0,
};

describe('the routes of reconciliation', () => {
  let asked: unknown[];
  beforeEach(() => {
    asked = [];
  });

  async function ask(name: string, query: unknown): Promise<Reply> {
    const routes = reconcileRoutes({
      clock: new ManualClock(now),
      reports: {
        async reconcile(from, to) {
          asked.push(['reconcile', from, to]);
          return { ...nothing, settledUntil: Number.NEGATIVE_INFINITY };
        },
        async compareHours(...range) {
          asked.push(['compareHours', ...range]);
          return [];
        },
        async recountAll() {
          asked.push(['recountAll']);
        },
        async recountDays(from, to) {
          asked.push(['recountDays', from, to]);
          return 7;
        },
      },
    });
    const actor = fakeActor('acc_admin');
    const request = new Request('http://localhost/');
    const route = routes.find(each => each.name === name)!;
    return route.handle({
      params: {},
      query,
      body: undefined,
      actor,
      identifyAgain: async () => actor,
      spelling: new RequestSpelling('/'),
      request,
    });
  }

  test('compare the last 24 hours by default', async () => {
    expect(await (await ask('compareHours', { stream: false })).json()).toEqual({ hours: [] });
    await ask('compareHours', { to: now - dayMs, stream: true });
    expect(asked).toEqual([
      ['compareHours', now - dayMs, now, false],
      ['compareHours', now - 2 * dayMs, now - dayMs, true],
    ]);
  });

  test.each([
    ['is longer than a month', { from: now - 32 * dayMs, stream: false }],
    ['ends before it begins', { from: now + 1, stream: false }],
  ])('a comparison whose range %s is rejected, and nothing is read for it', async (_what, query) => {
    await expect(ask('compareHours', query)).rejects.toThrow('The range must end after it begins');
    expect(asked).toEqual([]);
  });

  test('a repair without a range recounts everything', async () => {
    expect(await (await ask('repairClicks', {})).json()).toEqual({ ...nothing, repairedClicks: null });
    expect(asked).toEqual([['recountAll'], ['reconcile', now - 30 * dayMs, now + dayMs]]);
  });

  test('a repair of hours recounts those and nothing else', async () => {
    const range = { from: Date.UTC(2026, 10, 16, 7), to: Date.UTC(2026, 10, 16, 8) };
    expect(await (await ask('repairClicks', range)).json()).toEqual({ ...nothing, repairedClicks: 7 });
    expect(asked).toEqual([
      ['recountDays', range.from, range.to],
      ['reconcile', range.from, range.to],
    ]);
  });
});

describe('what a repair is asked for', () => {
  const refusal = (query: unknown): string | undefined =>
    repairParameters.safeParse(query).error?.issues[0]?.message;

  test.each([
    [{}, undefined],
    [{ from: '2026-11-16T07:00:00Z', to: '2026-11-16T08:00:00Z' }, undefined],
    [{ from: '2026-11-16T07:00:00+02:00', to: '2026-11-16T08:00:00+02:00' }, undefined],
    [{ from: '2026-11-16T07:30:00Z', to: '2026-11-16T08:00:00Z' }, 'must be the start of an hour'],
    [{ from: '2026-11-16T07:00:00Z' }, 'names from without to, or to without from'],
    [{ to: '2026-11-16T07:00:00Z' }, 'names from without to, or to without from'],
    [{ from: '2026-11-16T08:00:00Z', to: '2026-11-16T08:00:00Z' }, 'must be a range of at most 100 days'],
    [{ from: '2026-01-01T00:00:00Z', to: '2026-11-16T08:00:00Z' }, 'must be a range of at most 100 days'],
    [{ hour: '2026-11-16T07:00:00Z' }, 'Unrecognized key'],
  ])('%j', (query, message) => {
    if (message === undefined) expect(refusal(query)).toBeUndefined();
    else expect(refusal(query)).toContain(message);
  });

  test('the stream is read only when the word is true', () => {
    expect(compareParameters.parse({}).stream).toBe(false);
    expect(compareParameters.parse({ stream: 'true' }).stream).toBe(true);
    expect(compareParameters.safeParse({ stream: 'yes' }).success).toBe(false);
  });
});
