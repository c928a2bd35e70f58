import { describe, expect, test } from 'bun:test';
import type { VisitKind } from '../click.ts';
import { describeAgent } from './agent.ts';
import { isHuman, kindOf, visitFlag, visitFlags } from './visit.ts';

const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0';
const address = 'http://localhost/abc';

function requestOf(method: string, headers: Record<string, string>): Request {
  return new Request(address, { method, headers: { 'user-agent': browser, ...headers } });
}

const visits: readonly (readonly [VisitKind, string, Record<string, string>])[] = [
  ['human', 'GET', {}],
  ['human', 'GET', { 'sec-purpose': 'something-else' }],
  ['human', 'GET', { 'sec-fetch-dest': 'document', accept: 'text/html' }],
  ['head', 'HEAD', {}],
  ['head', 'HEAD', { 'user-agent': 'curl/8.6.0' }],
  ['head', 'HEAD', { 'sec-purpose': 'prefetch' }],
  ['prefetch', 'GET', { 'sec-purpose': 'prefetch' }],
  ['prefetch', 'GET', { 'sec-purpose': 'prefetch;prerender' }],
  ['prefetch', 'GET', { 'sec-purpose': 'prefetch;anonymous-client-ip' }],
  ['prefetch', 'GET', { 'Sec-Purpose': 'Prefetch' }],
  ['prefetch', 'GET', { purpose: 'prefetch' }],
  ['prefetch', 'GET', { 'x-purpose': 'preview' }],
  ['prefetch', 'GET', { 'x-moz': 'prefetch' }],
  ['prefetch', 'GET', { 'x-moz': 'prefetch', 'user-agent': 'Twitterbot/1.0' }],
  ['bot', 'GET', { 'user-agent': 'curl/8.6.0' }],
  ['bot', 'GET', { 'user-agent': '' }],
  ['preview', 'GET', { 'user-agent': 'Twitterbot/1.0' }],
];

describe('a visit', () => {
  test.each(visits)('is %s: %s with %j', (kind, method, headers) => {
    const request = requestOf(method, headers);
    const agent = describeAgent(request.headers.get('user-agent') ?? '');
    expect(kindOf(visitFlags(request), agent)).toBe(kind);
  });

  test.each(visits)(
    'is judged alike while the answer is being made: %s, %s with %j',
    (kind, method, headers) => {
      expect(isHuman(requestOf(method, headers))).toBe(kind === 'human');
    },
  );

  test('without a user agent, or with one of 64 KB, is judged as well', () => {
    const nameless = requestOf('GET', {});
    nameless.headers.delete('user-agent');
    expect(isHuman(nameless)).toBeFalse();
    expect(isHuman(requestOf('GET', { 'user-agent': `${browser} ${'x'.repeat(65_536)}` }))).toBeTrue();
  });

  test('has flags that fit into a byte', () => {
    expect(Object.values(visitFlag)).toEqual([1, 2]);
    expect(visitFlags(requestOf('HEAD', { purpose: 'prefetch' }))).toBe(3);
  });
});
