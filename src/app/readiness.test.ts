import { describe, expect, test } from 'bun:test';
import { checkReadiness, type ReadinessOptions } from './readiness.ts';
import { dutiesOf } from './roles.ts';

const away = { spans: () => Promise.reject(new Error('away')) };
const there = { spans: async () => [] };
const redisOf = (servers: number, serversAway: number) => ({ figures: { servers, serversAway } }) as never;

const check = (given: Partial<ReadinessOptions>) =>
  checkReadiness({
    duties: dutiesOf(['all']),
    links: there,
    codeLength: 7,
    redis: undefined,
    clicks: undefined,
    ...given,
  });

describe('a process', () => {
  test('whose store answers is ready, whatever else is away, and says what is', async () => {
    const clicks = {
      latest: {
        thread: { isStreamAway: true } as never,
        counting: { isWarehouseAway: true } as never,
        drift: undefined,
      } as never,
    };
    expect(await check({ redis: redisOf(3, 3), clicks })).toEqual({
      isReady: true,
      parts: { links: true, cache: false, stream: false, stats: false },
    });
  });

  test('names no engine that it does not use', async () => {
    expect(await check({})).toEqual({ isReady: true, parts: { links: true } });
  });

  test('without store and cache is not ready, in any role', async () => {
    for (const role of ['all', 'redirect', 'api', 'worker'] as const) {
      const { isReady, parts } = await check({ duties: dutiesOf([role]), links: away, redis: redisOf(1, 1) });
      expect([role, isReady, parts]).toEqual([role, false, { links: false, cache: false }]);
    }
  });

  test('that redirects stays ready while Redis or a replica knows links; one that does not redirect does not', async () => {
    const replica = { ...away, isNearUsable: () => true };
    for (const [role, isReady] of [
      ['all', true],
      ['redirect', true],
      ['api', false],
      ['worker', false],
    ] as const) {
      const duties = dutiesOf([role]);
      expect((await check({ duties, links: away, redis: redisOf(6, 5) })).isReady).toBe(isReady);
      expect(await check({ duties, links: replica })).toEqual({
        isReady,
        parts: { links: false, replica: true },
      });
    }
  });
});
