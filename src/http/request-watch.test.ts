import { describe, expect, test } from 'bun:test';
import { seededRandom } from '../base/random.ts';
import { requestIdOf } from './dispatch.ts';

const idOf = (given?: string): string =>
  requestIdOf(new Headers(given === undefined ? {} : { 'X-Request-Id': given }), seededRandom(7));
const ownId = /^[0-9a-f]{24}$/;

describe('the id of a request', () => {
  test.each([
    'a',
    '01JC0N4T9Z',
    'f47ac10b-58cc-4372-a567-0e02b2c3d479',
    'Root=1-67891233-abcdef',
    'a'.repeat(128),
  ])('is the one that the caller sent: %s', given => expect(idOf(given)).toBe(given));

  test.each(['', '-flag', 'a b', 'a"b', 'a,b', 'ä', '{"level":"error"}', '<script>', 'a'.repeat(129)])(
    'is one of our own instead of %j',
    given => expect(idOf(given)).toMatch(ownId),
  );

  test('is unique for each request that sends none', () => {
    const random = seededRandom(7);
    const ids = Array.from({ length: 100 }, () => requestIdOf(new Headers(), random));
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(id).toMatch(ownId);
  });
});
