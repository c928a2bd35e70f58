/** A path that cannot be a code is answered at once, without asking the store; most of them come from scanners. */
import { afterAll, describe, expect, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { metricOf } from '../kit/follow.ts';
import { sendRaw } from '../kit/raw-http.ts';
import { startTerseHere } from '../kit/terse-here.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);
// If one of the paths below were turned into `/x`, it would be answered with a redirect.
await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/', customAlias: 'x' } });

const get = async (path: string) => {
  const [answer] = await sendRaw(
    terse.url,
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  );
  return answer!;
};
const storeReads = () => metricOf(terse.url, 'terse_store_reads_total');

describe('a malformed code', () => {
  test.each([
    '/%00',
    '/x%00',
    '/../x',
    '/./x',
    '/a/../x',
    '/%2e%2e/x',
    '/%2e/x',
    '/..%2fx',
    '/%c0%ae%c0%ae/x',
    '//x',
    '/x/',
    '/x//',
    '/x%2f',
    '/\\x',
    '/%5cx',
    '/%zz',
    '/x%zz',
    '/%',
    '/x%',
    '/%ff',
    '/%C3%28',
    '/%F0%9F%98%80',
    '/\xe9',
    '/x%20',
    '/%20x',
    '/x;a=b',
    '/x#y',
    '/x++',
    '/+',
    '/x%2B%2B',
    '/x%0d%0aLocation:%20https://evil.example/',
    `/${'a'.repeat(65)}`,
    `/${'a'.repeat(5_000)}`,
    `/${'%41'.repeat(2_000)}`,
    '/.env',
    '/wp-login.php',
  ])('%s is a 404 that costs no read', async path => {
    const before = await storeReads();
    const { status, headers, body } = await get(path);
    expect(status).toBe(404);
    expect(headers['content-type']).toBe('application/problem+json');
    expect(headers.location).toBeUndefined();
    expect(JSON.parse(body)).toMatchObject({ status: 404, code: 'not_found' });
    expect(await storeReads()).toBe(before);
  });
});

test('a code with the shape of ours that was never issued costs no read either', async () => {
  const before = await storeReads();
  const issued = await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' } });
  for (let guess = 0; guess < 50; guess += 1) {
    const code = `zz${guess.toString(36).padStart(5, 'Q')}`;
    expect((await get(`/${code}`)).status).toBe(404);
  }
  expect(await storeReads()).toBe(before);
  expect((await get(`/${issued.body.shortCode}`)).status).toBe(302);
  expect(await storeReads()).toBe(before + 1);
});

test('unneeded escapes mean the same code', async () => {
  expect((await get('/%78')).headers.location).toBe('https://example.com/');
});

test('a full URL as request target means its path', async () => {
  expect((await get('http://localhost/x')).headers.location).toBe('https://example.com/');
});
