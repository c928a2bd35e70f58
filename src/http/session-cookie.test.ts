import { describe, expect, test } from 'bun:test';
import { createDeviceCookie, createSessionCookie, refuseForeign } from './session-cookie.ts';

const plain = createSessionCookie('http://localhost:8080');
const secure = createSessionCookie('https://sho.rt');
const headers = (fields: Record<string, string>) => new Headers(fields);

describe('the session cookie', () => {
  test('is for us alone: no script, no other site, no other host, and over TLS only where there is TLS', () => {
    expect(plain.keep('abc', 61_500)).toBe(
      'terse_session=abc; Path=/; HttpOnly; SameSite=Strict; Max-Age=61',
    );
    expect(secure.keep('abc', 61_500)).toBe(
      '__Host-terse_session=abc; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=61',
    );
    expect(secure.forget).toBe('__Host-terse_session=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0');
  });

  test('is found among others', () => {
    const among = 'a=b; terse_session=session_x-1; __Host-terse_session=other; xterse_session=y';
    expect(plain.tokenOf(headers({ cookie: among }))).toBe('session_x-1');
    expect(secure.tokenOf(headers({ cookie: among }))).toBe('other');
    for (const cookie of ['a=b', 'terse_session', 'Terse_Session=x', '']) {
      expect(plain.tokenOf(headers({ cookie }))).toBeUndefined();
    }
    expect(plain.tokenOf(headers({}))).toBeUndefined();
  });

  test.each([
    'terse_session=',
    'terse_session=a b',
    'terse_session="quoted"',
    'terse_session=one; terse_session=one',
    'terse_session=one; terse_session=two',
    `terse_session=${'x'.repeat(129)}`,
    'terse_session=["a"]',
  ])('in an odd form is refused: %s', cookie => {
    expect(() => plain.tokenOf(headers({ cookie }))).toThrow(
      expect.objectContaining({ code: 'unauthorized' }),
    );
  });
});

describe('a request is ours', () => {
  test.each([
    [{ 'sec-fetch-site': 'same-origin' }, true],
    [{ 'sec-fetch-site': 'same-origin', origin: 'https://sho.rt' }, true],
    [{ origin: 'https://sho.rt', host: 'localhost' }, true],
    [{ origin: 'https://SHO.rt', host: 'sho.rt' }, true],
    [{ origin: 'https://go.example', host: 'go.example' }, true],
    [{ 'sec-fetch-site': 'same-site', origin: 'https://sho.rt' }, false],
    [{ 'sec-fetch-site': 'cross-site', origin: 'https://sho.rt' }, false],
    [{ 'sec-fetch-site': 'none' }, false],
    [{ 'sec-fetch-site': '' }, false],
    [{}, false],
    [{ host: 'sho.rt' }, false],
    [{ origin: 'https://sho.rt' }, false],
    [{ origin: 'https://null' }, false],
    [{ origin: 'null', host: 'null' }, false],
    [{ origin: 'http://sho.rt', host: 'sho.rt' }, false],
    [{ origin: 'https://sho.rt:8443', host: 'sho.rt' }, false],
    [{ origin: 'https://sho.rt.evil.example', host: 'sho.rt' }, false],
    [{ origin: 'https://evil.example', host: 'sho.rt' }, false],
    [{ origin: 'https://evil.example/?https://sho.rt', host: 'sho.rt' }, false],
    [{ referer: 'https://sho.rt/app', host: 'sho.rt' }, false],
  ] as [Record<string, string>, boolean][])('%j: %p', (fields, isOurs) => {
    expect(secure.isOurs(headers(fields))).toBe(isOurs);
  });

  test('also without TLS, where the server has none', () => {
    expect(plain.isOurs(headers({ origin: 'http://127.0.0.1:9000', host: '127.0.0.1:9000' }))).toBe(true);
    expect(plain.isOurs(headers({ origin: 'http://127.0.0.1:9001', host: '127.0.0.1:9000' }))).toBe(false);
  });
});

test('a session is not started from another site, but from a program', () => {
  const request = (fields: Record<string, string>) => new Request('https://sho.rt/', { headers: fields });
  for (const fields of [
    {},
    { 'sec-fetch-site': 'same-origin' },
    { origin: 'https://sho.rt', host: 'sho.rt' },
  ]) {
    refuseForeign(secure, request(fields as Record<string, string>));
  }
  for (const fields of [
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ]) {
    expect(() => refuseForeign(secure, request(fields as Record<string, string>))).toThrow(
      expect.objectContaining({ code: 'foreign_origin' }),
    );
  }
});

describe('the cookie of a known device', () => {
  const device = createDeviceCookie('https://sho.rt');

  test('is for us alone, and kept for a year beside the session', () => {
    const response = new Response(null, { headers: { 'Set-Cookie': secure.keep('abc', 1_000) } });
    device.keepWith(response, 'a.b.c');
    device.keepWith(response, undefined);
    expect(response.headers.getSetCookie()).toEqual([
      secure.keep('abc', 1_000),
      '__Host-terse_device=a.b.c; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=31536000',
    ]);
  });

  test('is never refused: an odd one is a token that nothing accepts', () => {
    const cookie = '__Host-terse_session=x; __Host-terse_device=a b; __Host-terse_device=c';
    expect(device.tokenOf(headers({ cookie }))).toBe('a b');
    expect(device.tokenOf(headers({ cookie: 'terse_device=a' }))).toBeUndefined();
    expect(device.tokenOf(headers({}))).toBeUndefined();
  });
});
