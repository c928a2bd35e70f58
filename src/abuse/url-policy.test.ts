import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createUrlPolicy, type UrlReason, urlBytesMax } from './url-policy.ts';

const policy = createUrlPolicy({ ownHosts: ['Sho.rt', 'go.bücher.example:8443', '203.0.113.10'] });

/** Accepted as written, unless a third column says what is stored. */
const accepted: readonly (readonly [why: string, input: string, stored?: string])[] = [
  ['an ordinary URL', 'https://example.com/some/path?x=1#y'],
  ['no path gains the slash', 'https://example.com', 'https://example.com/'],
  ['http', 'http://example.com/'],
  [
    'any case of scheme and host, kept case of the path',
    'HTTPS://EXAMPLE.COM/Path',
    'https://example.com/Path',
  ],
  ['spaces around', '  https://example.com/  ', 'https://example.com/'],
  ['a space inside the path', 'https://example.com/a b', 'https://example.com/a%20b'],
  ['a space inside the query', 'https://example.com/?q=a b', 'https://example.com/?q=a%20b'],
  ['a port', 'https://example.com:8443/'],
  ['the default port, dropped', 'https://example.com:443/x', 'https://example.com/x'],
  ['an empty port, dropped', 'https://example.com:/x', 'https://example.com/x'],
  ['a port with leading zeros', 'http://example.com:0080/', 'http://example.com/'],
  ['the highest port', 'http://example.com:65535/'],
  ['a trailing dot', 'https://example.com./'],
  ['dot segments', 'https://example.com/a/../b/./c', 'https://example.com/b/c'],
  ['encoded dot segments', 'https://example.com/a/%2e%2E/b', 'https://example.com/b'],
  ['a broken percent escape, left alone', 'https://example.com/%zz'],
  ['an encoded line break', 'https://example.com/%0d%0aSet-Cookie:x'],
  ['an encoded null', 'https://example.com/%00'],
  ['an @ in the path', 'https://example.com/@user'],
  ['an @ in the query', 'https://example.com?to=a@b.c', 'https://example.com/?to=a@b.c'],
  ['a colon and slashes in the path', 'https://web.archive.example/web/https://sho.rt/x'],
  ['a backslash in the query', 'https://example.com/?a\\b'],
  ['a backslash in the fragment', 'https://example.com/#a\\b'],
  ['our host in the query only', 'https://example.com/?next=https://sho.rt/'],
  ['an internationalised host', 'https://bücher.example/', 'https://xn--bcher-kva.example/'],
  ['its encoded form', 'https://xn--bcher-kva.example/'],
  ['a sharp s, kept apart from ss', 'https://faß.example/', 'https://xn--fa-hia.example/'],
  ['a host in Chinese with ideographic stops', 'https://例子。测试/', 'https://xn--fsqu00a.xn--0zwm56d/'],
  ['full-width letters in a name', 'https://ｅｘａｍｐｌｅ.com/', 'https://example.com/'],
  ['a percent-encoded name', 'https://exa%6Dple.com/', 'https://example.com/'],
  ['a soft hyphen, which the parser drops', 'https://exam\u00adple.com/', 'https://example.com/'],
  ['an underscore', 'https://_dmarc.example_1.com/'],
  ['a name that starts with digits', 'https://0x7f.example/'],
  ['an emoji in the path', 'https://example.com/😀', 'https://example.com/%F0%9F%98%80'],
  ['a public IPv4 address', 'http://198.51.100.7/'],
  ['a private IPv4 address in plain sight', 'http://10.0.0.1:8080/'],
  ['a loopback address in plain sight', 'http://127.0.0.1/'],
  ['localhost, when it is not ours', 'http://localhost:3000/'],
  ['an IPv6 address', 'http://[2001:db8::1]/'],
  ['a long IPv6 address, shortened', 'http://[2001:DB8:0:0:0:0:0:1]:80/', 'http://[2001:db8::1]/'],
  ['a subdomain of our host', 'https://blog.sho.rt/'],
  ['a host that ends like ours', 'https://notsho.rt/'],
  ['our host as a prefix', 'https://sho.rt.example/'],
  ['a host with many labels', `https://${'a.'.repeat(60)}example/`],
  ['exactly the longest allowed', `https://example.com/${'x'.repeat(urlBytesMax - 20)}`],
  ['longer as written than as stored', `https://example.com/${'a/../'.repeat(1000)}`, 'https://example.com/'],
];

const refused: readonly (readonly [reason: UrlReason, input: string])[] = [
  ['empty', ''],
  ['empty', '   '],

  ['missing_scheme', 'example.com'],
  ['missing_scheme', 'www.example.com/path?x=1'],
  ['missing_scheme', 'example.com:8080/x'],
  ['missing_scheme', 'localhost:3000'],
  ['missing_scheme', '//example.com/'],
  ['missing_scheme', '/path'],
  ['missing_scheme', '?q=1'],
  ['missing_scheme', '://example.com'],
  ['missing_scheme', 'https//example.com'],
  ['missing_scheme', '1http://example.com'],
  ['missing_scheme', 'ｈｔｔｐｓ://example.com'],
  ['missing_scheme', '\u00a0https://example.com/'],
  ['missing_scheme', '\u200bhttps://example.com/'],
  ['missing_scheme', 'not a url'],

  ['scheme_not_allowed', 'javascript:alert(1)'],
  ['scheme_not_allowed', 'JaVaScRiPt:alert(1)'],
  ['scheme_not_allowed', 'java\tscript:alert(1)'],
  ['scheme_not_allowed', 'java\r\nscript:alert(1)'],
  ['scheme_not_allowed', '\u0001javascript:alert(1)'],
  ['scheme_not_allowed', ' javascript:alert(1)'],
  ['scheme_not_allowed', 'javascript://example.com/%0aalert(1)'],
  ['scheme_not_allowed', 'data:text/html,<script>alert(1)</script>'],
  ['scheme_not_allowed', 'blob:https://example.com/0b1c'],
  ['scheme_not_allowed', 'ftp://example.com/'],
  ['scheme_not_allowed', 'ftp://'],
  ['scheme_not_allowed', 'file:///etc/passwd'],
  ['scheme_not_allowed', 'vbscript:x'],
  ['scheme_not_allowed', 'mailto:someone@example.com'],
  ['scheme_not_allowed', 'tel:12345'],
  ['scheme_not_allowed', 'ws://example.com/'],
  ['scheme_not_allowed', 'wss://example.com/'],
  ['scheme_not_allowed', 'about:blank'],
  ['scheme_not_allowed', 'view-source:https://example.com/'],
  ['scheme_not_allowed', 'intent://example.com#Intent;end'],
  ['scheme_not_allowed', 'httpss://example.com/'],
  ['scheme_not_allowed', 'http+unix://socket/'],

  ['control_character', 'https://exa\tmple.com/'],
  ['control_character', 'ht\ntps://example.com/'],
  ['control_character', 'https://example.com/\r\nSet-Cookie: a=b'],
  ['control_character', 'https://example.com/a\tb'],
  ['control_character', 'https://example.com/?q=\n'],
  ['control_character', 'https://example.com/#\0'],
  ['control_character', 'https://example.com/\0'],
  ['control_character', '\thttps://example.com/'],
  ['control_character', 'https://example.com/\n'],
  ['control_character', ' \nhttps://example.com/'],
  ['control_character', '\u001fhttps://example.com/'],
  ['control_character', 'https://example.com/\x7f'],
  ['control_character', 'https://example.com/\x1b[31m'],
  ['control_character', 'https://example.com/\u0085'],

  ['broken_unicode', 'https://example.com/\ud800'],
  ['broken_unicode', 'https://example.com/\udc00\ud800'],
  ['broken_unicode', 'https://\ud83d.example/'],

  ['misleading_slashes', 'https:evil.example'],
  ['misleading_slashes', 'https:/evil.example'],
  ['misleading_slashes', 'https:\\\\evil.example'],
  ['misleading_slashes', 'https:/\\evil.example'],
  ['misleading_slashes', 'https:\\/evil.example'],
  ['misleading_slashes', 'https://\\evil.example'],
  ['misleading_slashes', 'https://evil.example\\@good.example/'],
  ['misleading_slashes', 'https://good.example\\.evil.example/'],
  ['misleading_slashes', 'https://example.com/a\\b'],
  ['misleading_slashes', 'https:'],

  ['missing_host', 'https://'],
  ['missing_host', 'https:///evil.example'],
  ['missing_host', 'https:////evil.example'],
  ['missing_host', 'https://?q=1'],
  ['missing_host', 'https://#top'],
  ['missing_host', 'https://:8080/'],

  ['credentials', 'https://user:password@example.com/'],
  ['credentials', 'https://user@example.com/'],
  ['credentials', 'https://@example.com/'],
  ['credentials', 'https://:@example.com/'],
  ['credentials', 'https://good.example%2F@evil.example/'],
  ['credentials', 'https://good.example:443@evil.example/'],
  ['credentials', 'https://a@b@example.com/'],

  ['invalid_port', 'https://example.com:0/'],
  ['invalid_port', 'https://example.com:000/'],
  ['invalid_port', 'https://example.com:65536/'],
  ['invalid_port', 'https://example.com:99999999999999999999/'],
  ['invalid_port', 'https://example.com:80a/'],
  ['invalid_port', 'https://example.com:-1/'],
  ['invalid_port', 'http://[::1]:0/'],
  ['invalid_port', 'http://[::1]:x/'],

  ['invalid_host', 'https://exa mple.com/'],
  ['invalid_host', 'https:// example.com/'],
  ['invalid_host', 'https://exa<mple.com/'],
  ['invalid_host', 'https://exa"mple.com/'],
  ['invalid_host', "https://exa'mple.com/"],
  ['invalid_host', 'https://*.example.com/'],
  ['invalid_host', 'https://a;b.example/'],
  ['invalid_host', 'https://example.com%2Fpath/'],
  ['invalid_host', 'https://%00.example/'],
  ['invalid_host', 'https://example.com＠evil.example/'],
  ['invalid_host', 'https://example.com／evil.example/'],
  ['invalid_host', 'https://xn--a/'],
  ['invalid_host', 'https://\u00ad/'],
  ['invalid_host', 'http://256.1.1.1/'],
  ['invalid_host', 'http://1.2.3.4.5/'],
  ['invalid_host', 'http://1.2.3.08/'],
  ['invalid_host', 'http://example.0x4/'],
  ['invalid_host', 'http://[::1/'],
  ['invalid_host', 'http://[fe80::1%25eth0]/'],
  ['invalid_host', 'http://[12345::]/'],

  ['empty_label', 'https://a..b/'],
  ['empty_label', 'https://.example.com/'],
  ['empty_label', 'https://example.com../'],
  ['empty_label', 'https://./'],
  ['empty_label', 'https://../'],
  ['empty_label', 'https://a。．b/'],

  ['disguised_address', 'http://0x7f.1/'],
  ['disguised_address', 'http://0x7F000001/'],
  ['disguised_address', 'http://2130706433/'],
  ['disguised_address', 'http://017700000001/'],
  ['disguised_address', 'http://0177.0.0.1/'],
  ['disguised_address', 'http://127.1/'],
  ['disguised_address', 'http://127.0.0.1./'],
  ['disguised_address', 'http://0/'],
  ['disguised_address', 'http://010.0.0.1:80/'],
  ['disguised_address', 'http://１２７.0.0.1/'],
  ['disguised_address', 'http://127。0。0。1/'],
  ['disguised_address', 'http://127．0．0．1:8080/'],
  ['disguised_address', 'http://⑫7.0.0.1/'],
  ['disguised_address', 'http://%31%32%37.0.0.1/'],
  ['disguised_address', 'http://1\u00ad27.0.0.1/'],
  ['disguised_address', 'http://[::ffff:198.51.100.7]/'],
  ['disguised_address', 'http://[0:0:0:0:0:FFFF:c633:6407]:8080/x'],
  ['disguised_address', 'http://[64:ff9b::198.51.100.7]/'],

  ['own_host', 'https://sho.rt/abc'],
  ['own_host', 'http://sho.rt'],
  ['own_host', 'HTTPS://SHO.RT/abc'],
  ['own_host', 'https://sho.rt./abc'],
  ['own_host', 'https://sho.rt:9999/abc'],
  ['own_host', 'https://SHO.RT.:8443/abc'],
  ['own_host', 'https://ｓｈｏ．ｒｔ/abc'],
  ['own_host', 'https://sho%2Ert/abc'],
  ['own_host', 'https://sh\u200bo.rt/abc'],
  ['own_host', 'https://go.bücher.example/abc'],
  ['own_host', 'https://go.xn--bcher-kva.example/abc'],
  ['own_host', 'https://203.0.113.10/abc'],
  ['own_host', 'https://[::ffff:203.0.113.10]/abc'],

  ['too_long', `https://example.com/${'x'.repeat(urlBytesMax - 19)}`],
  ['too_long', `https://example.com/${'漢'.repeat(2000)}`],
  ['too_long', `https://example.com/?q=${'漢'.repeat(230)}`],
  ['too_long', `https://example.com/#${'x'.repeat(1_000_000)}`],
];

describe('a URL is accepted and stored as a browser would open it:', () => {
  test.each(accepted)('%s', (_why, input, stored = input) => {
    expect(policy.judge(input)).toEqual({ ok: true, url: stored });
  });
});

describe('a URL is rejected:', () => {
  const named = refused.map(
    ([reason, input]) => [reason, JSON.stringify(input).slice(0, 60), input] as const,
  );
  test.each(named)('%s: %s', (reason, _shown, input) => {
    expect(policy.judge(input)).toEqual({ ok: false, reason, detail: expect.stringMatching(/^[A-Z].*\.$/) });
  });
});

test('a rejected scheme is named as the parser reads it, truncated', () => {
  for (const input of ['javascript:1', 'JaVaScRiPt:1', 'java\tscript:1', '\u0000java\nscript:1']) {
    expect(policy.judge(input)).toMatchObject({ detail: expect.stringContaining('"javascript:"') });
  }
  const verdict = policy.judge(`${'x'.repeat(5000)}:1`);
  expect(verdict).toMatchObject({ reason: 'scheme_not_allowed' });
  expect(JSON.stringify(verdict).length).toBeLessThan(200);
});

test('a disguised address is named, so that its author can write it plainly', () => {
  expect(policy.judge('http://0x7f.1/')).toMatchObject({ detail: expect.stringContaining('127.0.0.1') });
});

test('if one loopback name is ours, all of them are', () => {
  const everySpelling = [
    'http://localhost/',
    'http://LOCALHOST.:8080/',
    'http://terse.localhost/',
    'http://127.0.0.1:8080/',
    'http://127.8.9.10/',
    'http://0.0.0.0/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
  ];
  for (const ownHost of ['localhost', '127.0.0.1', '[::1]', 'localhost:8080']) {
    const local = createUrlPolicy({ ownHosts: [ownHost] });
    for (const input of everySpelling) {
      expect(local.judge(input)).toMatchObject({ reason: 'own_host' });
      expect(local.isFollowable(policy.judge(input).ok ? new URL(input).href : input)).toBe(false);
    }
    expect(local.judge('http://127.example.com/').ok).toBe(true);
    expect(local.judge('http://128.0.0.1/').ok).toBe(true);
    expect(local.judge('http://notlocalhost/').ok).toBe(true);
  }
});

test('an invalid own host stops the start', () => {
  expect(() => createUrlPolicy({ ownHosts: ['not a host'] })).toThrow('"not a host" is not a host name');
});

describe('a stored URL is not followed', () => {
  test.each([
    ['when it is a script', 'javascript:alert(1)'],
    ['when it is of another scheme', 'ftp://example.com/'],
    ['with userinfo', 'https://user@example.com/'],
    ['with userinfo behind a port', 'https://good.example:443@evil.example/'],
    ['when it is ours', 'https://sho.rt/abc'],
    ['when it is ours at another port', 'https://sho.rt:8080/abc'],
    ['when it is ours with a trailing dot', 'https://sho.rt./abc'],
    ['when it is ours in another case', 'https://SHO.RT/abc'],
    ['when it is ours as an address', 'https://203.0.113.10/'],
    ['when it is ours as a number', 'https://3405803786/'],
    ['when it is ours as a hexadecimal number', 'https://0xcb00710a/'],
    ['when it is ours ending in a hexadecimal digit', 'https://0xcb.0.0x71.0xa/'],
    ['when it is ours inside IPv6', 'https://[::ffff:cb00:710a]/'],
    ['when it is ours inside IPv6, written out', 'https://[0:0:0:0:0:ffff:cb00:710a]/'],
    ['with a line break', 'https://example.com/\r\nSet-Cookie:x'],
    ['with a null', 'https://example.com/\0'],
    ['with a DEL', 'https://example.com/\x7f'],
    ['with a line break at the end', 'https://example.com/\n'],
    ['with a space', 'https://example.com/a b'],
    ['without a host', 'https:///example.com'],
    ['with a backslash before its host', 'https:\\\\example.com/'],
    ['with a backslash after its host', 'https://example.com\\@sho.rt/'],
    ['when it was never serialised', 'https://bücher.example/'],
    ['when it is empty', ''],
  ])('%s', (_why, url) => {
    expect(policy.isFollowable(url)).toBe(false);
  });
});

/** Random pieces that together often make a URL, and often nearly one. */
const words =
  'http https HTTPS javascript sho.rt SHO.RT localhost example.com 127.0.0.1 2130706433 0x7f a com';
const marks =
  ': / // :// \\ @ ? # . .. [ ] % %2e %00 - _ " \' * :0 :65536 :8080 ::1 ::ffff: 0 80 xn-- xn--bcher-kva';
const oddities = [' ', '\t', '\n', '\0', '\x7f', '\ud800', '\u00ad', '\u200b', ...'。ßé漢０ｓ'];
const piece = fc.constantFrom(...words.split(' '), ...marks.split(' '), ...oddities);
const almostUrl = fc.array(piece, { maxLength: 14 }).map(pieces => pieces.join(''));
const hostedUrl = fc.array(piece, { maxLength: 10 }).map(pieces => `https://${pieces.join('')}`);
const anyInput = fc.oneof(
  fc.string({ unit: 'binary' }),
  almostUrl,
  hostedUrl,
  fc.webUrl({ withFragments: true }),
);

describe('for any input at all', () => {
  test('the verdict on an accepted URL is the same URL again, and it may be followed', () => {
    let acceptedCount = 0;
    fc.assert(
      fc.property(anyInput, input => {
        const verdict = policy.judge(input);
        if (!verdict.ok) return;
        acceptedCount += 1;
        expect(policy.judge(verdict.url)).toEqual(verdict);
        expect(policy.isFollowable(verdict.url)).toBe(true);
      }),
      { numRuns: 10_000 },
    );
    expect(acceptedCount).toBeGreaterThan(1000);
  });

  test('an accepted URL keeps every promise of this policy', () => {
    fc.assert(
      fc.property(anyInput, input => {
        const verdict = policy.judge(input);
        if (!verdict.ok) return;
        const parsed = new URL(verdict.url);
        expect(['http:', 'https:']).toContain(parsed.protocol);
        expect(Buffer.byteLength(verdict.url)).toBeLessThanOrEqual(urlBytesMax);
        expect(verdict.url).toMatch(/^[!-~]+$/);
        expect(parsed.username + parsed.password).toBe('');
        expect(parsed.port).not.toBe('0');
        expect(parsed.hostname.replace(/\.$/, '')).not.toBe('sho.rt');
        expect(parsed.hostname.replace(/\.$/, '').split('.')).not.toContain('');
      }),
      { numRuns: 10_000 },
    );
  });

  test('a followable URL leads a browser to a foreign http or https host', () => {
    fc.assert(
      fc.property(anyInput, url => {
        if (!policy.isFollowable(url)) return;
        const parsed = URL.parse(url);
        if (parsed === null) return; // A browser rejects it, too.
        expect(['http:', 'https:']).toContain(parsed.protocol);
        expect(parsed.username + parsed.password).toBe('');
        expect(parsed.hostname.replace(/\.$/, '')).not.toBe('sho.rt');
      }),
      { numRuns: 10_000 },
    );
  });
});
