import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { canonicaliseUrl, canonicalText, hostSuffixes, urlExpressions } from './expressions.ts';

const expressionsOf = (url: string): string[] => urlExpressions(canonicaliseUrl(url)!);

describe('what is looked up for a URL', () => {
  test('is every host suffix with every path prefix', () => {
    expect(expressionsOf('http://a.b.com/1/2.html?param=1')).toEqual([
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
    expect(expressionsOf('http://a.b.c.d.e.f.com/1.html')).toEqual([
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
    expect(expressionsOf('http://b.com/1/2/3/4/5?q')).toEqual([
      'b.com/1/2/3/4/5?q',
      'b.com/1/2/3/4/5',
      'b.com/',
      'b.com/1/',
      'b.com/1/2/',
      'b.com/1/2/3/',
    ]);
  });

  test('knows no suffixes of an address', () => {
    expect(expressionsOf('http://1.2.3.4/1/')).toEqual(['1.2.3.4/1/', '1.2.3.4/']);
    expect(expressionsOf('http://[2001:470::114]/a')).toEqual(['[2001:470::114]/a', '[2001:470::114]/']);
  });

  test.each([
    ['http://b/', ['b/']],
    ['http://b.com/?', ['b.com/']],
    ['http://b.com/?x', ['b.com/?x', 'b.com/']],
  ])('of %s is %j', (url, expected) => {
    expect(expressionsOf(url)).toEqual(expected);
  });

  test('is at most thirty, all different, and the URL itself first', () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/);
    const labels = fc.array(label, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(labels, fc.array(label, { maxLength: 12 }), label, (hosts, folders, query) => {
        const [host, path] = [`${hosts.join('.')}.com`, ['', ...folders].join('/') || '/'];
        const found = expressionsOf(`http://${host}${path}?${query}`);
        expect(found[0]).toBe(`${host}${path}?${query}`);
        expect(found.length).toBeLessThanOrEqual(30);
        expect(new Set(found).size).toBe(found.length);
        expect(found).toContain(`${host}/`);
      }),
    );
  });

  test('stops at the registered domain', () => {
    expect(hostSuffixes('a.b.example.co.uk')).toEqual([
      'a.b.example.co.uk',
      'b.example.co.uk',
      'example.co.uk',
    ]);
    expect(hostSuffixes('co.uk')).toEqual(['co.uk']);
    expect(hostSuffixes('a.user.github.io')).toEqual(['a.user.github.io', 'user.github.io']);
  });
});

const canonical = (url: string): string | undefined => {
  const found = canonicaliseUrl(url);
  return found && canonicalText(found);
};

/** The examples of the Safe Browsing documentation. */
const documented: readonly (readonly [url: string, canonical: string])[] = [
  ['http://host/%25%32%35', 'http://host/%25'],
  ['http://host/%25%32%35%25%32%35', 'http://host/%25%25'],
  ['http://host/%2525252525252525', 'http://host/%25'],
  ['http://host/asdf%25%32%35asd', 'http://host/asdf%25asd'],
  ['http://host/%%%25%32%35asd%%', 'http://host/%25%25%25asd%25%25'],
  ['http://www.google.com/', 'http://www.google.com/'],
  [
    'http://%31%36%38%2e%31%38%38%2e%39%39%2e%32%36/%2E%73%65%63%75%72%65/%77%77%77%2E%65%62%61%79%2E%63%6F%6D/',
    'http://168.188.99.26/.secure/www.ebay.com/',
  ],
  [
    'http://195.127.0.11/uploads/%20%20%20%20/.verify/.eBaysecure=updateuserdataxplimnbqmn-xplmvalidateinfoswqpcmlx=hgplmcx/',
    'http://195.127.0.11/uploads/%20%20%20%20/.verify/.eBaysecure=updateuserdataxplimnbqmn-xplmvalidateinfoswqpcmlx=hgplmcx/',
  ],
  [
    'http://host%23.com/%257Ea%2521b%2540c%2523d%2524e%25f%255E00%252611%252A22%252833%252944_55%252B',
    'http://host%23.com/~a!b@c%23d$e%25f^00&11*22(33)44_55+',
  ],
  ['http://3279880203/blah', 'http://195.127.0.11/blah'],
  ['http://www.google.com/blah/..', 'http://www.google.com/'],
  ['www.google.com/', 'http://www.google.com/'],
  ['www.google.com', 'http://www.google.com/'],
  ['http://www.evil.com/blah#frag', 'http://www.evil.com/blah'],
  ['http://www.GOOgle.com/', 'http://www.google.com/'],
  ['http://www.google.com.../', 'http://www.google.com/'],
  ['http://www.google.com/foo\tbar\rbaz\n2', 'http://www.google.com/foobarbaz2'],
  ['http://www.google.com/q?', 'http://www.google.com/q?'],
  ['http://www.google.com/q?r?', 'http://www.google.com/q?r?'],
  ['http://www.google.com/q?r?s', 'http://www.google.com/q?r?s'],
  ['http://evil.com/foo#bar#baz', 'http://evil.com/foo'],
  ['http://evil.com/foo;', 'http://evil.com/foo;'],
  ['http://evil.com/foo?bar;', 'http://evil.com/foo?bar;'],
  ['http://\x01\x80.com/', 'http://%01%80.com/'],
  ['http://notrailingslash.com', 'http://notrailingslash.com/'],
  ['http://www.gotaport.com:1234/', 'http://www.gotaport.com/'],
  ['  http://www.google.com/  ', 'http://www.google.com/'],
  ['http:// leadingspace.com/', 'http://%20leadingspace.com/'],
  ['http://%20leadingspace.com/', 'http://%20leadingspace.com/'],
  ['%20leadingspace.com/', 'http://%20leadingspace.com/'],
  ['https://www.securesite.com/', 'https://www.securesite.com/'],
  ['http://host.com/ab%23cd', 'http://host.com/ab%23cd'],
  ['http://host.com//twoslashes?more//slashes', 'http://host.com/twoslashes?more//slashes'],
];

describe('the canonical form of a URL', () => {
  test.each(documented)('of %s is the documented one', (url, expected) => {
    expect(canonical(url)).toBe(expected);
  });

  test.each([
    ['http://0x12.0x43.0x44.0x01/', 'http://18.67.68.1/'],
    ['http://012.034.01.055/', 'http://10.28.1.45/'],
    ['http://12.0x12.01234/', 'http://12.18.2.156/'],
    ['http://167838211/', 'http://10.1.2.3/'],
    ['http://4294967295/', 'http://255.255.255.255/'],
    ['http://[2001:0db8:0000::1]/', 'http://[2001:db8::1]/'],
    ['http://[FEDC:BA98::3210]:80/a', 'http://[fedc:ba98::3210]/a'],
    ['http://[::ffff:1.2.3.4]/', 'http://1.2.3.4/'],
    ['http://[64:ff9b::1.2.3.4]/', 'http://1.2.3.4/'],
  ])('writes the address of %s in the one usual way', (url, expected) => {
    expect(canonical(url)).toBe(expected);
  });

  test.each([
    'http://4294967296/',
    'http://1.2.3.4.5/',
    'http://256.1.1.1/',
    'http://1.2.3.00x0/',
    'http://089.1/',
  ])('leaves %s a name, for it is no address', url => {
    expect(canonical(url)).toBe(url);
  });

  test.each([
    ['http://a.com/foo/.././bar/./../foo.html', 'http://a.com/foo.html'],
    ['http://a.com//a//b///c////', 'http://a.com/a/b/c/'],
    ['http://a.com/../../x', 'http://a.com/x'],
    ['http://a.com/a/b/..', 'http://a.com/a/'],
    ['http://user:secret@a.com:80/x', 'http://a.com/x'],
    ['http://..a..com/', 'http://a.com/'],
    ['http://a.com/%C3%BC?%c3%bc', 'http://a.com/%C3%BC?%C3%BC'],
  ])('of %s is %s', (url, expected) => {
    expect(canonical(url)).toBe(expected);
  });

  test('has no escape left in it, however deep it was nested', () => {
    for (const depth of [1, 2, 900, 100_000]) {
      expect(canonical(`http://a.com/%${'25'.repeat(depth)}41`)).toBe('http://a.com/A');
    }
    expect(canonical('http://a.com/%%34%31')).toBe('http://a.com/A');
  });

  test.each([
    '',
    ':',
    '/blah',
    '#ref',
    '?query#ref',
    'http://#ref',
    'http:///blah',
    'http://?query',
    'http://…/',
    'http://a.aa@',
    '::',
    '...',
  ])('does not exist for %s, which has no host', url => {
    expect(canonical(url)).toBeUndefined();
  });

  const isStable = (url: string): void => {
    const once = canonical(url);
    if (once !== undefined) expect(canonical(once)).toBe(once);
  };
  const bytes = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map(code => String.fromCharCode(code)) });

  test.each([
    ['http://a:b:80/', 'http://a/'],
    ['..[]a', 'http://[]/'],
    ['%2e[]\0', 'http://[]/'],
    ['http://.[::1]:80/', 'http://[::1]/'],
  ])('of %j is %s, and its own', (url, expected) => {
    expect(canonical(url)).toBe(expected);
    expect(canonical(expected)).toBe(expected);
  });

  test('is its own canonical form', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true }), bytes, (url, tail) => isStable(url + tail)),
      // The host of the example is empty, because everything before `@` is a user.
      { examples: [['http://a.aa', '@']] },
    );
  });

  test('is its own canonical form, however its marks are mixed', () => {
    const marks = '@ : [ ] . .. / ? # % %25 %40 %3a %2e %0a \\ :// http:// :: 0x1 1 a B'.split(' ');
    const pieces = fc.array(fc.oneof(fc.constantFrom(...marks, ' ', '\t'), bytes), { maxLength: 12 });
    fc.assert(fc.property(pieces, parts => isStable(parts.join(''))));
  });
});
