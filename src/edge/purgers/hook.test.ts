import { afterEach, beforeEach, expect, test } from 'bun:test';
import { systemClock } from '../../base/clock.ts';
import { type PurgeAddress, parsePurgeAddress } from '../../config/purge-address.ts';
import { FakeEdge } from '../fake-edge.ts';
import { PurgeFailed, type Purger } from '../purger.ts';
import { createHookPurger } from './open.ts';

let edge: FakeEdge;
beforeEach(() => {
  edge = new FakeEdge();
});
afterEach(() => edge.stop());

const token = 'token-of-the-operator';

function purgerAt(path: string, given: { token?: string; maxMs?: number } = {}): Purger {
  const address = parsePurgeAddress(edge.url + path) as Extract<PurgeAddress, { kind: 'keys' | 'paths' }>;
  return createHookPurger({ address, token: undefined, clock: systemClock, ...given });
}

test('one request names all codes, and * is everything', async () => {
  const purger = purgerAt('/hook', { token });
  await purger.purge(['one', 'two']);
  await purger.purgeAll?.();
  const purged = edge.seen.map(({ method, path, headers }) => [method, path, headers.get('surrogate-key')]);
  expect(purged).toEqual([
    ['PURGE', '/hook', 'one two'],
    ['PURGE', '/hook', '*'],
  ]);
  expect(edge.seen.map(({ headers }) => headers.get('authorization'))).toEqual([
    `Bearer ${token}`,
    `Bearer ${token}`,
  ]);
});

test('where codes are paths each is purged separately, and one that is not cached counts as purged', async () => {
  edge.answer = ({ path }) => new Response('', { status: path === '/gone' ? 404 : 200 });
  const purger = purgerAt('/{code}');
  await purger.purge(['one', 'gone']);
  expect(edge.seen.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
    'PURGE /gone',
    'PURGE /one',
  ]);
  expect(edge.seen[0]?.headers.has('authorization')).toBe(false);
  expect(purger.purgeAll).toBeUndefined();
});

test.each([
  ['/', 404],
  ['/', 503],
  ['/', 302],
  ['/{code}', 403],
  ['/{code}', 500],
])('at %s an answer of %d is a failure, and says nothing of the token', async (path, status) => {
  edge.answer = () => new Response('', { status, headers: { Location: 'http://127.0.0.1:1/' } });
  const failure = await purgerAt(path, { token })
    .purge(['one'])
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  expect(failure).toBeInstanceOf(PurgeFailed);
  expect((failure as Error).message).toBe(`the edge answered a purge with ${status}`);
});

test('an edge that hangs times out, and one that is down is reported as unreachable', async () => {
  edge.answer = () => new Promise(() => {});
  await expect(purgerAt('/', { maxMs: 50 }).purge(['one'])).rejects.toThrow('did not answer within 50 ms');
  const address = { kind: 'keys', url: 'http://127.0.0.1:1/' } as const;
  const unreachable = createHookPurger({ address, token, clock: systemClock });
  await expect(unreachable.purge(['one'])).rejects.toThrow('the edge cannot be reached');
});
