import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ManualClock } from '../base/clock.ts';
import { sampleLink } from '../links/store-samples.ts';
import { createContinueTokens, createWarning, splitQuery } from './warning.ts';

const tokens = createContinueTokens(new Uint8Array(32).fill(1), new ManualClock());
const warning = createWarning(tokens, 'https://terse.example');
const link = sampleLink('abc', { status: 'quarantined', version: 3 });
const browser = { accept: 'text/html' };
const asked = (query: string, headers: Record<string, string> = {}) => ({
  query,
  headers: new Headers(headers),
});
/** The query of the continue link of a page. */
function continueQuery(body: string): string {
  const href = /href="\/abc\?([^"]+)"/.exec(body)?.[1] ?? '';
  return href.replaceAll('&amp;', '&');
}

describe('a warning', () => {
  test('is a page for browsers, whose continue link is valid, and keeps the visitor’s query unchanged', () => {
    const { status, body } = warning.answer(
      asked('a=%20+&b', browser),
      link,
      'https://example.com/?a=%20+&b',
    );
    expect(status).toBe(200);
    expect(warning.read(asked(continueQuery(body)), link)).toEqual({ query: 'a=%20+&b', warned: true });
    expect(warning.read(asked(continueQuery(body)), { ...link, version: 4 })).toEqual({
      query: 'a=%20+&b',
      warned: false,
    });
  });

  test('replaces a continue link that is no longer valid', () => {
    const { body } = warning.answer(asked('terse-continue=old', browser), link, 'https://example.com/');
    expect(continueQuery(body)).not.toContain('old');
    expect(warning.read(asked(continueQuery(body)), link).warned).toBe(true);
  });

  test('is a problem with the destination for other clients', () => {
    const { status, body } = warning.answer(asked(''), link, 'https://example.com/');
    expect(status).toBe(403);
    expect(JSON.parse(body)).toMatchObject({ code: 'link_quarantined', longUrl: 'https://example.com/' });
  });

  test.each([
    ['same-origin', true],
    [undefined, true],
    ['none', false],
    ['same-site', false],
    ['cross-site', false],
  ])('lets a navigation that began at %p go on: %p', (site, expected) => {
    const query = `terse-continue=${tokens.issue('abc', 3)}`;
    const headers: Record<string, string> = site === undefined ? {} : { 'sec-fetch-site': site };
    expect(warning.read(asked(query, headers), link).warned).toBe(expected);
  });
});

const secret = new Uint8Array(32).fill(7);
const minuteMs = 60_000;

describe('a token to continue', () => {
  const clock = new ManualClock();
  const tokens = createContinueTokens(secret, clock);

  test('is valid for its code and version, in every process with the same secret', () => {
    const token = tokens.issue('abc', 3);
    expect(tokens.accepts(token, 'abc', 3)).toBe(true);
    expect(createContinueTokens(secret, clock).accepts(token, 'abc', 3)).toBe(true);
    expect(tokens.accepts(token, 'abd', 3)).toBe(false);
    expect(tokens.accepts(token, 'abc', 4)).toBe(false);
    const others = createContinueTokens(new Uint8Array(32).fill(8), clock);
    expect(others.accepts(token, 'abc', 3)).toBe(false);
  });

  test('is valid for ten minutes', () => {
    const token = tokens.issue('abc', 1);
    clock.advance(10 * minuteMs - 1_000);
    expect(tokens.accepts(token, 'abc', 1)).toBe(true);
    clock.advance(1_000);
    expect(tokens.accepts(token, 'abc', 1)).toBe(false);
  });

  test('is not valid for longer when the clock is set back', () => {
    const token = tokens.issue('abc', 1);
    clock.set(clock.now() - minuteMs);
    expect(tokens.accepts(token, 'abc', 1)).toBe(false);
    clock.set(clock.now() + minuteMs);
  });

  test('cannot be forged or changed', () => {
    const token = tokens.issue('abc', 1);
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, letter) => {
        const changed = token.slice(0, at) + letter + token.slice(at + 1);
        // The last letter of a signature carries four unused bits.
        const same = changed === token || (at === token.length - 1 && /^[\w-]$/.test(letter));
        expect(same || !tokens.accepts(changed, 'abc', 1)).toBe(true);
      }),
    );
    for (const made of ['', '.', 'zzzzzz.', `${token}=`, ` ${token}`])
      expect(tokens.accepts(made, 'abc', 1)).toBe(false);
  });
});

describe('splitQuery', () => {
  test.each([
    ['', '', undefined],
    ['a=1&b=%20+', 'a=1&b=%20+', undefined],
    ['terse-continue=t', '', 't'],
    ['a=1&terse-continue=t&b=2', 'a=1&b=2', 't'],
    ['terse-continue=x&terse-continue=t', '', 't'],
    ['terse-continued=1', 'terse-continued=1', undefined],
    ['a=terse-continue=1', 'a=terse-continue=1', undefined],
  ])('%p', (given, query, token) => {
    expect(splitQuery(given)).toEqual({ query, token });
  });
});
