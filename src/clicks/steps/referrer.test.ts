import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createReferrerDescriber, describeReferrer, referrerLengthMax } from './referrer.ts';

const long = 'x'.repeat(referrerLengthMax);

describe('a referrer', () => {
  test.each([
    // Plain pages.
    ['https://news.example.com/2026/story', 'news.example.com', 'https://news.example.com/2026/story'],
    ['http://example.com', 'example.com', 'http://example.com/'],
    ['https://www.example.com/', 'example.com', 'https://www.example.com/'],
    ['https://WWW.Example.COM/Path', 'example.com', 'https://www.example.com/Path'],
    ['https://example.com:8443/a', 'example.com', 'https://example.com:8443/a'],
    ['https://example.com:443/a', 'example.com', 'https://example.com/a'],
    ['https://example.com./a', 'example.com', 'https://example.com./a'],
    ['https://l.facebook.com/', 'l.facebook.com', 'https://l.facebook.com/'],
    ['https://t.co/abc', 't.co', 'https://t.co/abc'],
    [
      'https://münchen.example/straße',
      'xn--mnchen-3ya.example',
      'https://xn--mnchen-3ya.example/stra%C3%9Fe',
    ],
    ['https://192.0.2.7/a', '192.0.2.7', 'https://192.0.2.7/a'],
    ['https://[2001:db8::1]/a', '[2001:db8::1]', 'https://[2001:db8::1]/a'],
    ['  https://example.com/a  ', 'example.com', 'https://example.com/a'],
    // The `www` belongs to the name when nothing else would be left of it.
    ['https://www.com/', 'www.com', 'https://www.com/'],
    ['https://www.www.example/', 'www.example', 'https://www.www.example/'],
    // What may identify a person is removed.
    ['https://www.google.com/search?q=private+matter', 'google.com', 'https://www.google.com/search'],
    ['https://example.com/a#token=secret', 'example.com', 'https://example.com/a'],
    ['https://me:password@example.com/a', 'example.com', 'https://example.com/a'],
    ['https://example.com?session=1', 'example.com', 'https://example.com/'],
    // Apps.
    ['android-app://com.google.android.gm/', 'com.google.android.gm', 'android-app://com.google.android.gm'],
    ['android-app://com.Slack', 'com.slack', 'android-app://com.slack'],
    [
      'android-app://org.telegram.plus/https/t.me?x=1',
      'org.telegram.plus',
      'android-app://org.telegram.plus',
    ],
  ])('%s comes from %s', (referrer, domain, kept) => {
    expect(describeReferrer(referrer)).toEqual({ domain, referrer: kept });
  });

  test.each([
    '',
    ' ',
    '-',
    'about:blank',
    'example.com',
    '//example.com/a',
    '/path',
    'javascript:alert(1)',
    'data:text/html,<b>',
    'file:///etc/passwd',
    'chrome-extension://abcdefgh/page.html',
    'ios-app://12345',
    'ftp://example.com/',
    'https://',
    'https://a b/',
    'https://exa\u0000mple.com/',
    'https://[::1/',
    'https://example.com:99999/',
    'https://(other)/',
    'https://a,b.example/',
    `android-app://com.${'a'.repeat(250)}/`,
    'android-app://',
    'android-app://nodots/',
    'android-app://com.example<script>',
    '<script>alert(1)</script>',
  ])('%j is a direct visit', referrer => {
    expect(describeReferrer(referrer)).toEqual({ domain: '', referrer: '' });
  });

  test('that is too long is truncated, and keeps its domain', () => {
    const page = `https://example.com/${long}`;
    expect(describeReferrer(page)).toEqual({
      domain: 'example.com',
      referrer: page.slice(0, referrerLengthMax),
    });
    const site = { domain: 'example.com', referrer: 'https://example.com/' };
    expect(describeReferrer(`https://example.com/?${long}`)).toEqual(site);
    expect(describeReferrer(`https://example.com/${'ß'.repeat(900)}`)).toEqual(site);
  });

  test('whose host is too long to be one is a direct visit', () => {
    for (const host of [`${long}.com`, `${long}@example.com`, `${'a.'.repeat(150)}com`]) {
      expect(describeReferrer(`https://${host}/`)).toEqual({ domain: '', referrer: '' });
    }
    const cutInHost = `https://${'x'.repeat(referrerLengthMax - 20)}@example.com/`;
    expect(describeReferrer(cutInHost)).toEqual({ domain: '', referrer: '' });
  });

  test('that is one of our own pages is a direct visit', () => {
    const isOwnHost = (hostname: string) => hostname === 'sho.rt';
    expect(describeReferrer('https://sho.rt/abc+', { isOwnHost })).toEqual({ domain: '', referrer: '' });
    expect(describeReferrer('https://SHO.RT/', { isOwnHost }).domain).toBe('');
    expect(describeReferrer('https://not.sho.rt/', { isOwnHost }).domain).toBe('not.sho.rt');
  });

  test('of any kind is described without an error, within bounds, and always the same', () => {
    const page = fc
      .tuple(fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.string({ unit: 'binary' }))
      .map(([url, rest]) => url + rest);
    const texts = fc.oneof(fc.string({ unit: 'binary', maxLength: 2_000 }), page, fc.webUrl());
    fc.assert(
      fc.property(texts, text => {
        const { domain, referrer } = describeReferrer(text);
        expect(referrer.length).toBeLessThanOrEqual(referrerLengthMax);
        expect(domain.length).toBeLessThanOrEqual(253);
        expect(domain === '').toBe(referrer === '');
        expect(referrer).not.toMatch(/[?#\s<>"]|^[a-z-]+:\/\/[^/]*@/);
        expect(describeReferrer(referrer)).toEqual({ domain, referrer });
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a describer of referrers', () => {
  test('gives the same object for the same referrer, and what the function gives', () => {
    const describeOnce = createReferrerDescriber({ entriesMax: 10, isOwnHost: host => host === 'sho.rt' });
    expect(describeOnce('https://example.com/a?b')).toBe(describeOnce('https://example.com/a?b'));
    expect(describeOnce('https://example.com/a?b')).toEqual(describeReferrer('https://example.com/a?b'));
    expect(describeOnce('https://sho.rt/').domain).toBe('');
    expect(describeOnce('').domain).toBe('');
    expect(describeOnce(`https://${long}@example.com/`).domain).toBe('');
  });
});
