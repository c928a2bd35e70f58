import { afterEach, beforeEach, expect, test } from 'bun:test';
import { systemClock } from '../../base/clock.ts';
import { FakeEdge } from '../fake-edge.ts';
import { createFastlyPurger } from './open.ts';

let edge: FakeEdge;
beforeEach(() => {
  edge = new FakeEdge();
});
afterEach(() => edge.stop());

const purger = () =>
  createFastlyPurger({
    address: { kind: 'fastly', service: 'SU1Z0', endpoint: edge.url },
    token: 'token-of-the-operator',
    clock: systemClock,
  });

test('codes are purged in one batch of keys, and everything by a separate call', async () => {
  edge.answer = () => Response.json({ status: 'ok' });
  await purger().purge(['one', 'two']);
  await purger().purgeAll?.();
  expect(edge.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /service/SU1Z0/purge',
    'POST /service/SU1Z0/purge_all',
  ]);
  expect(JSON.parse(edge.seen[0]!.body)).toEqual({ surrogate_keys: ['one', 'two'] });
  expect(edge.seen[0]!.headers.get('content-type')).toBe('application/json');
  for (const { headers } of edge.seen) expect(headers.get('fastly-key')).toBe('token-of-the-operator');
});

test.each([401, 429, 503])('an answer of %d is a failure without the token in it', async status => {
  edge.answer = () => Response.json({ msg: 'token-of-the-operator is wrong' }, { status });
  await expect(purger().purge(['one'])).rejects.toThrow(
    new RegExp(`^Fastly answered a purge with ${status}$`),
  );
});
