import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { sampleLink } from '../links/store-samples.ts';
import { createContinueTokens } from './continue-token.ts';
import { createWarning } from './warning.ts';

const tokens = createContinueTokens(new Uint8Array(32).fill(1), new ManualClock());
const warning = createWarning(tokens, 'https://terse.example');
const link = sampleLink('abc', { status: 'quarantined', version: 3 });
const browser = { accept: 'text/html' };
const asked = (query: string, headers: Record<string, string> = {}) => ({
  query,
  headers: new Headers(headers),
});
/** The query of the link by which the page lets a visitor go on. */
function wayOn(body: string): string {
  const href = /href="\/abc\?([^"]+)"/.exec(body)?.[1] ?? '';
  return href.replaceAll('&amp;', '&');
}

describe('a warning', () => {
  test('is a page for browsers, whose way on is good, and keeps the visitor’s query to the letter', () => {
    const { status, body } = warning.answer(
      asked('a=%20+&b', browser),
      link,
      'https://example.com/?a=%20+&b',
    );
    expect(status).toBe(200);
    expect(warning.read(asked(wayOn(body)), link)).toEqual({ query: 'a=%20+&b', warned: true });
    expect(warning.read(asked(wayOn(body)), { ...link, version: 4 })).toEqual({
      query: 'a=%20+&b',
      warned: false,
    });
  });

  test('replaces a way on that is no longer good', () => {
    const { body } = warning.answer(asked('terse-continue=old', browser), link, 'https://example.com/');
    expect(wayOn(body)).not.toContain('old');
    expect(warning.read(asked(wayOn(body)), link).warned).toBe(true);
  });

  test('is a problem with the destination for everyone else', () => {
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
