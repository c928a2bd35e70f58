import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { canonicaliseUrl } from './canonical-url.ts';
import { type HostSuffixes, hostSuffixesV4, hostSuffixesV5, urlExpressions } from './expressions.ts';

const expressionsOf = (url: string, hostSuffixes: HostSuffixes): string[] =>
  urlExpressions(canonicaliseUrl(url)!, hostSuffixes);

describe.each([
  ['version 5', hostSuffixesV5],
  ['version 4', hostSuffixesV4],
] as const)('what is looked up for a URL in %s', (_name, hostSuffixes) => {
  test('is every host suffix with every path prefix', () => {
    expect(expressionsOf('http://a.b.com/1/2.html?param=1', hostSuffixes)).toEqual([
      'a.b.com/1/2.html?param=1',
      'a.b.com/1/2.html',
      'a.b.com/',
      'a.b.com/1/',
      'b.com/1/2.html?param=1',
      'b.com/1/2.html',
      'b.com/',
      'b.com/1/',
    ]);
  });

  test('is the exact host and four suffixes of a long one', () => {
    expect(expressionsOf('http://a.b.c.d.e.f.com/1.html', hostSuffixes)).toEqual([
      'a.b.c.d.e.f.com/1.html',
      'a.b.c.d.e.f.com/',
      'c.d.e.f.com/1.html',
      'c.d.e.f.com/',
      'd.e.f.com/1.html',
      'd.e.f.com/',
      'e.f.com/1.html',
      'e.f.com/',
      'f.com/1.html',
      'f.com/',
    ]);
  });

  test('is the exact path and four folders of a deep one', () => {
    expect(expressionsOf('http://b.com/1/2/3/4/5?q', hostSuffixes)).toEqual([
      'b.com/1/2/3/4/5?q',
      'b.com/1/2/3/4/5',
      'b.com/',
      'b.com/1/',
      'b.com/1/2/',
      'b.com/1/2/3/',
    ]);
  });

  test('knows no suffixes of an address', () => {
    expect(expressionsOf('http://1.2.3.4/1/', hostSuffixes)).toEqual(['1.2.3.4/1/', '1.2.3.4/']);
    expect(expressionsOf('http://[2001:470::114]/a', hostSuffixes)).toEqual([
      '[2001:470::114]/a',
      '[2001:470::114]/',
    ]);
  });

  test.each([
    ['http://b/', ['b/']],
    ['http://b.com/?', ['b.com/']],
    ['http://b.com/?x', ['b.com/?x', 'b.com/']],
  ])('of %s is %j', (url, expected) => {
    expect(expressionsOf(url, hostSuffixes)).toEqual(expected);
  });

  test('is at most thirty, all different, and the URL itself first', () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/);
    const labels = fc.array(label, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(labels, fc.array(label, { maxLength: 12 }), label, (hosts, folders, query) => {
        const [host, path] = [`${hosts.join('.')}.com`, ['', ...folders].join('/') || '/'];
        const found = expressionsOf(`http://${host}${path}?${query}`, hostSuffixes);
        expect(found[0]).toBe(`${host}${path}?${query}`);
        expect(found.length).toBeLessThanOrEqual(30);
        expect(new Set(found).size).toBe(found.length);
        expect(found).toContain(`${host}/`);
      }),
    );
  });
});

describe('under a public suffix of two labels', () => {
  test('version 5 stops at the domain that somebody registered', () => {
    expect(hostSuffixesV5('a.b.example.co.uk')).toEqual([
      'a.b.example.co.uk',
      'b.example.co.uk',
      'example.co.uk',
    ]);
    expect(hostSuffixesV5('co.uk')).toEqual(['co.uk']);
    expect(hostSuffixesV5('a.user.github.io')).toEqual(['a.user.github.io', 'user.github.io']);
  });

  test('version 4 counts labels only', () => {
    expect(hostSuffixesV4('b.example.co.uk')).toEqual(['b.example.co.uk', 'example.co.uk', 'co.uk']);
  });
});
