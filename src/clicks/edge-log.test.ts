import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseEdgeLine } from './edge-log.ts';

const fields = {
  time: '1763269200.1239',
  id: 'a1b2',
  status: '302',
  cache: 'HIT',
  method: 'GET',
  path: '/abc',
  address: '192.0.2.7',
  agent: 'Mozilla/5.0',
  referrer: '-',
};
const lineOf = (changed: Partial<typeof fields> = {}): string =>
  Object.values({ ...fields, ...changed }).join('\t');

const visitIn = (changed: Partial<typeof fields>) => {
  const parsed = parseEdgeLine(lineOf(changed));
  if (parsed.kind !== 'click') throw new Error(`it is ${parsed.kind}`);
  return parsed.visit;
};

describe('a line of an edge’s log', () => {
  test('of a redirect that the cache had is a click', () => {
    expect(parseEdgeLine(lineOf())).toEqual({
      kind: 'click',
      visit: {
        at: 1_763_269_200_123,
        code: 'abc',
        isHead: false,
        address: '192.0.2.7',
        agent: 'Mozilla/5.0',
        referrer: '',
      },
    });
    expect(visitIn({ time: '1763269200', method: 'HEAD', address: '2001:db8::1' })).toMatchObject({
      at: 1_763_269_200_000,
      isHead: true,
      address: '2001:db8::1',
    });
  });

  test.each(['hit', 'Hit', 'HIT', 'HIT-CLUSTER', 'STALE', 'UPDATING'])(
    '%s is the cache’s own answer',
    cache => {
      expect(parseEdgeLine(lineOf({ cache })).kind).toBe('click');
    },
  );

  test.each(['miss', 'MISS', 'pass', 'EXPIRED', 'BYPASS', 'REVALIDATED', 'RefreshHit', 'hitmiss', '-'])(
    '%s was answered by Terse, which has counted it',
    cache => {
      expect(parseEdgeLine(lineOf({ cache })).kind).toBe('seen');
    },
  );

  test.each<Partial<typeof fields>>([
    { status: '200' },
    { status: '304' },
    { status: '410' },
    { method: 'PURGE' },
    { path: '/' },
    { path: '/api/v1/links' },
    { path: '/abc+' },
    { path: `/${'a'.repeat(65)}` },
    { path: '/%' },
    { path: '*' },
  ])('%j is nobody following a link', changed => {
    expect(parseEdgeLine(lineOf(changed)).kind).toBe('other');
  });

  test.each([
    '',
    'GET /abc HTTP/1.1',
    lineOf({ time: '16/Nov/2026:05:00:00 +0000' }),
    lineOf({ time: '946684799.999' }),
    lineOf({ id: '' }),
    lineOf({ status: '-' }),
    lineOf({ address: 'example.com' }),
    `${lineOf()}\tmore`,
    lineOf({ path: '/abc\tmore' }),
    lineOf().slice(0, 20),
  ])('%j cannot be read', line => {
    expect(parseEdgeLine(line).kind).toBe('unreadable');
  });

  test('a query and another spelling of the path are the same link', () => {
    expect(visitIn({ path: '/abc?utm_source=x' }).code).toBe('abc');
    expect(visitIn({ path: '/%61bc' }).code).toBe('abc');
  });

  test('escapes become what they stand for, as nginx and Varnish write them', () => {
    expect(visitIn({ agent: 'a \\x22quoted\\x22 \\xF0\\x9F\\x8E\\x88' }).agent).toBe('a "quoted" 🎈');
    expect(visitIn({ referrer: 'https://example.com/\\"a\\"\\\\b\\tc' }).referrer).toBe(
      'https://example.com/"a"\\b\tc',
    );
    expect(visitIn({ agent: 'ends in \\' }).agent).toBe('ends in \\');
  });

  test('no line at all stops the reader, and what a line is never changes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.array(fc.string(), { minLength: 9, maxLength: 9 })), given => {
        const line = typeof given === 'string' ? given : given.join('\t');
        expect(parseEdgeLine(line)).toEqual(parseEdgeLine(line));
      }),
    );
  });
});
