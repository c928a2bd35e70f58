import { beforeEach, describe, expect, test } from 'bun:test';
import { anonymous } from '../accounts/account.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { createMemoryLimiter } from '../limits/bucket.ts';
import { ratesWith } from '../limits/plans.ts';
import { createLimitGuard, type LimitGuard, type LimitHeaders, limitKinds, withinLimits } from './limits.ts';

const address = '203.0.113.7';
const free = fakeActor('acc_free', { plan: 'free' });
const pro = fakeActor('acc_pro', { plan: 'pro' });

let clock: ManualClock;
let guard: LimitGuard;
let limited: string[];

function guardWith(...changes: string[]): LimitGuard {
  return createLimitGuard({
    limiter: createMemoryLimiter(),
    rates: ratesWith(changes),
    clock,
    onLimited: (plan, kind) => limited.push(`${plan} ${kind}`),
  });
}

beforeEach(() => {
  clock = new ManualClock();
  limited = [];
  guard = guardWith();
});

async function refusal(attempt: Promise<LimitHeaders>): Promise<Problem> {
  const outcome = await attempt.then(
    () => 'nothing',
    error => error,
  );
  if (outcome instanceof Problem) return outcome;
  throw new Error(`expected a refusal, got ${String(outcome)}`);
}

/** How many of this many single requests are admitted. */
async function served(count: number, actor = free, from = address): Promise<number> {
  let allowed = 0;
  for (let n = 0; n < count; n += 1) {
    const isServed = await guard.spend('create', actor, from, 1).then(
      () => true,
      () => false,
    );
    if (isServed) allowed += 1;
  }
  return allowed;
}

describe('making links', () => {
  test('is limited by the hour as the plan says', async () => {
    expect(await served(200, anonymous)).toBe(5);
    expect(await served(200, free)).toBe(100);
    expect(await served(200, fakeActor('acc_verified', { plan: 'verified' }))).toBe(100);
    expect(await served(10_100, pro)).toBe(10_000);
  });

  test('is never limited for the operator, by plan or by role', async () => {
    for (const operator of [
      fakeActor('acc_1', { plan: 'unlimited' }),
      fakeActor('acc_2', { plan: 'free', role: 'admin' }),
    ]) {
      expect(await guard.spend('create', operator, address, 10_000)).toEqual({});
      expect(await served(500, operator)).toBe(500);
    }
  });

  test('is limited for the account, whichever key and address are used', async () => {
    expect(await served(60, free, '203.0.113.1')).toBe(60);
    expect(await served(60, { ...free, keyId: 'another' } as typeof free, '203.0.113.2')).toBe(40);
  });

  test('without a key is limited for the address, and for a whole IPv6 network', async () => {
    expect(await served(10, anonymous, '203.0.113.1')).toBe(5);
    expect(await served(10, anonymous, '203.0.113.2')).toBe(5);
    expect(await served(3, anonymous, '2001:db8::1')).toBe(3);
    expect(await served(3, anonymous, '2001:db8::2')).toBe(2);
  });

  test('in bulk takes one token per link, all or nothing', async () => {
    const headers = await guard.spend('create', free, address, 60);
    expect(headers['RateLimit-Remaining']).toBe('40');
    const { headers: refused } = await refusal(guard.spend('create', free, address, 41));
    expect(refused['Retry-After']).toBe('36');
    expect((await guard.spend('create', free, address, 40))['RateLimit-Remaining']).toBe('0');
  });

  test('in bulk beyond the size of the plan is rejected without a Retry-After', async () => {
    const problem = await refusal(guard.spend('create', free, address, 101));
    expect([problem.code, problem.fields.limit]).toEqual(['plan_too_small', 100]);
    expect(problem.headers['Retry-After']).toBeUndefined();
    expect(await served(200)).toBe(100);
  });

  test('by more and more accounts of one address falls to the burst rate', async () => {
    for (let n = 0; n < 10; n += 1)
      expect(await served(100, fakeActor(`acc_${n}`, { plan: 'free' }))).toBe(100);
    const late = fakeActor('acc_late', { plan: 'free' });
    expect(await served(10, late)).toBe(0);
    clock.advance(60_000);
    expect(await served(100, late)).toBe(10);
    expect(await served(10, fakeActor('acc_verified', { plan: 'verified' }))).toBe(10);
    expect(await served(10, late, '203.0.113.9')).toBe(10);
  });

  test('by one account alone is never slowed by the burst limit, however long it goes on', async () => {
    guard = guardWith('pro=1000/h', 'verifiedBurst=1/min');
    await guard.spend('create', pro, address, 1_000);
    for (let n = 0; n < 12_000; n += 1) {
      clock.advance(3_600);
      await guard.spend('create', pro, address, 1);
    }
  });

  test('without a key is held to the burst rate even where its hour is not limited', async () => {
    guard = guardWith('anonymous=off');
    expect(await served(50, anonymous)).toBe(10);
    clock.advance(6_000);
    expect(await served(50, anonymous)).toBe(1);
  });

  test('follows the rates that the operator has set, or none', async () => {
    guard = guardWith('free=3/h');
    expect(await served(10)).toBe(3);
    guard = guardWith('off');
    expect(await served(500, anonymous)).toBe(500);
    expect(await guard.spend('create', anonymous, address, 1)).toEqual({});
  });
});

test('reports and sign-ins are limited by address for every caller, each separately', async () => {
  for (let n = 0; n < 20; n += 1) await guard.spend('report', free, address, 1);
  expect((await refusal(guard.spend('report', anonymous, address, 1))).headers['Retry-After']).toBe('180');
  for (let n = 0; n < 10; n += 1) await guard.spend('signIn', anonymous, address, 1);
  expect((await refusal(guard.spend('signIn', anonymous, address, 1))).headers['Retry-After']).toBe('6');
  expect(await served(5, anonymous)).toBe(5);
  expect(limited).toEqual(['anonymous report', 'anonymous signIn']);
});

test('reports are limited for an account too, from any address', async () => {
  for (let n = 0; n < 20; n += 1) await guard.spend('report', free, `203.0.113.${n}`, 1);
  expect((await refusal(guard.spend('report', free, '203.0.113.99', 1))).code).toBe('rate_limited');
  await guard.spend('report', anonymous, '203.0.113.99', 1);
});

describe('changes and expensive reads', () => {
  test('are limited for the account by its plan, each separately', async () => {
    await guard.spend('change', free, address, 2_400);
    expect((await refusal(guard.spend('change', free, address, 1))).headers['Retry-After']).toBe('36');
    await guard.spend('read', free, address, 600);
    expect((await refusal(guard.spend('read', free, '203.0.113.9', 1))).headers['Retry-After']).toBe('1');
    await guard.spend('change', pro, address, 10_000);
    await guard.spend('read', pro, address, 6_000);
    expect(limited).toEqual(['free change', 'free read']);
  });

  test('by more and more accounts of one address fall to the allowance of ten', async () => {
    for (let n = 0; n < 10; n += 1)
      await guard.spend('change', fakeActor(`acc_${n}`, { plan: 'free' }), address, 2_400);
    const late = fakeActor('acc_late', { plan: 'free' });
    expect((await refusal(guard.spend('change', late, address, 1))).code).toBe('rate_limited');
    await guard.spend('change', late, '203.0.113.9', 1);
    await guard.spend('change', pro, address, 1);
  });

  test('are never limited for the operator', async () => {
    const operator = fakeActor('acc_2', { plan: 'free', role: 'admin' });
    for (const kind of limitKinds) expect(await guard.spend(kind, operator, address, 1_000_000)).toEqual({});
  });
});

test('an IPv6 customer who has many networks gets sixteen times the limit of one', async () => {
  const from = (network: number) => `2001:db8:7:${network.toString(16)}::1`;
  for (let network = 0; network < 16; network += 1)
    expect(await served(10, anonymous, from(network))).toBe(5);
  for (let network = 16; network < 30; network += 1)
    expect(await served(2, anonymous, from(network))).toBe(0);
  expect(await served(10, anonymous, '2001:db8:8::1')).toBe(5);
});

test('the largest rate that can be set stays exact for a large network', async () => {
  guard = guardWith('anonymousReads=1000000/day');
  await guard.spend('read', anonymous, '2001:db8:1:1::1', 1_000_000);
  const { headers } = await refusal(guard.spend('read', anonymous, '2001:db8:1:1::1', 1));
  expect(headers['RateLimit-Policy']).toBe('1000000;w=86400, 16000000;w=86400');
  expect(headers['Retry-After']).toBe('1');
});

describe('a limited caller', () => {
  test('learns what is left, the limit, and when it is full again', async () => {
    expect(await guard.spend('create', free, address, 1)).toEqual({
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '99',
      'RateLimit-Reset': '36',
      'RateLimit-Policy': '100;w=3600, 10;w=60;burst=1000',
    });
  });

  test('learns exactly how long to wait, and is served after that', async () => {
    await served(100);
    clock.advance(500);
    const problem = await refusal(guard.spend('create', free, address, 1));
    expect([problem.status, problem.code, problem.detail]).toEqual([
      429,
      'rate_limited',
      'Too many new links: 100 an hour are allowed. Try again in 36 seconds.',
    ]);
    expect(problem.headers).toEqual({
      'Retry-After': '36',
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '0',
      'RateLimit-Reset': '36',
      'RateLimit-Policy': '100;w=3600, 10;w=60;burst=1000',
    });
    clock.advance(35_000);
    await refusal(guard.spend('create', free, address, 1));
    clock.advance(1_000);
    expect((await guard.spend('create', free, address, 1))['RateLimit-Remaining']).toBe('0');
  });

  test('sees the limit to wait for, not the one with the least left', async () => {
    guard = guardWith('anonymous=60/h', 'standardBurst=2/min');
    await guard.spend('create', anonymous, address, 10);
    const { headers } = await refusal(guard.spend('create', anonymous, address, 51));
    expect(headers).toMatchObject({
      'RateLimit-Limit': '60',
      'RateLimit-Remaining': '50',
      'RateLimit-Reset': '60',
      'Retry-After': '60',
    });
  });

  test('is counted by plan and kind', async () => {
    await served(7, anonymous);
    expect(limited).toEqual(['anonymous create', 'anonymous create']);
  });
});

describe('every answer of a limited request has RateLimit headers', () => {
  const request = { kind: 'create', actor: free, address } as const;

  test('when it succeeds', async () => {
    const response = await withinLimits(guard, request, async spend => {
      await spend(3);
      return new Response();
    });
    expect(response.headers.get('RateLimit-Remaining')).toBe('97');
  });

  test('when it is rejected before any token was spent', async () => {
    const refused = withinLimits(guard, request, () => Promise.reject(new Problem('invalid_json')));
    const problem: Problem = await refused.then(
      () => expect.unreachable(),
      error => error,
    );
    expect([problem.code, problem.headers['RateLimit-Remaining']]).toEqual(['invalid_json', '100']);
  });

  test('when it is rejected after tokens were spent', async () => {
    const refused = withinLimits(guard, request, async spend => {
      await spend(1);
      throw new Problem('alias_taken');
    });
    const problem: Problem = await refused.then(
      () => expect.unreachable(),
      error => error,
    );
    expect([problem.code, problem.headers['RateLimit-Remaining']]).toEqual(['alias_taken', '99']);
  });

  test('and keeps it to itself when others get the same problem', async () => {
    const shared = new Problem('overloaded');
    const failed = withinLimits(guard, request, () => Promise.reject(shared));
    await failed.catch(() => undefined);
    expect(shared.headers).toEqual({});
  });
});
