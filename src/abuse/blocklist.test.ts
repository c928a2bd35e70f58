import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { coversWithStars, lineOf, readBlockLine } from './block-entry.ts';
import { createBlocklist, type MatchUrl } from './blocklist.ts';
import { compileList, entryCount, patternsMax } from './compiled-list.ts';

const key = Uint8Array.of(8, 7, 6, 5, 4, 3, 2, 1);

function listOf(...lists: string[]): MatchUrl {
  const named = lists.map((text, index) => ({ name: `list ${index + 1}`, compiled: compileList(text, key) }));
  return createBlocklist(named, key);
}

const isBlocked = (match: MatchUrl, url: string): boolean => match(url) !== undefined;

describe('an entry blocks what it means and no more:', () => {
  const cases: readonly (readonly [entry: string, blocked: string[], free: string[]])[] = [
    [
      'evil.example',
      ['https://evil.example/', 'http://a.b.evil.example:8080/x?y#z', 'https://evil.example./'],
      [
        'https://notevil.example/',
        'https://evil.example.com/',
        'https://example/',
        'https://x.com/evil.example',
      ],
    ],
    ['shop.evil.co.uk', ['https://a.shop.evil.co.uk/'], ['https://evil.co.uk/', 'https://www.evil.co.uk/']],
    ['*.evil.example', ['https://a.evil.example/', 'https://a.b.evil.example/'], ['https://evil.example/']],
    ['198.51.100.7', ['http://198.51.100.7/x'], ['http://198.51.100.70/', 'http://98.51.100.7/']],
    ['2001:db8::1', ['http://[2001:db8::1]:8080/'], ['http://[2001:db8::2]/']],
    [
      'suffix:zip',
      ['https://a.zip/', 'https://b.a.zip/x'],
      ['https://zip.example/', 'https://example.com/a.zip'],
    ],
    [
      'https://good.example/bad?id=7',
      ['http://good.example/bad?id=7', 'https://good.example/bad?id=7#x', 'https://good.example//bad?id=%37'],
      ['https://good.example/bad', 'https://good.example/bad?id=8', 'https://www.good.example/bad?id=7'],
    ],
    [
      'https://good.example/bad',
      ['https://good.example/bad', 'https://good.example/bad?any=query', 'https://good.example/b%61d'],
      ['https://good.example/', 'https://good.example/bad/more', 'https://good.example/Bad'],
    ],
    [
      'https://good.example:8443/bad/',
      [
        'https://good.example:8443/bad',
        'http://good.example:8443//bad/?x',
        'https://good.example:8443/bad;x/',
      ],
      ['https://good.example/bad', 'https://good.example:444/bad'],
    ],
    [
      'https://good.example/view;id=7',
      ['https://good.example/view;id=7', 'http://good.example//view;id=%37?x'],
      ['https://good.example/view', 'https://good.example/view;id=8'],
    ],
    [
      'good.example/bad/*',
      [
        'https://good.example/bad/',
        'https://good.example/bad',
        'https://good.example/bad/a/b?c',
        'https://good.example:8443/bad/a',
        'https://good.example/bad;x/a',
        'https://good.example/b%61d%2Fa',
      ],
      ['https://good.example/badly/', 'https://good.example/x/bad/', 'https://good.example/'],
    ],
    ['good.example/?u=https://evil/*', ['https://good.example/?u=https://evil/x'], ['https://good.example/']],
    [
      'good.example:8080',
      ['http://good.example:8080/x'],
      ['http://good.example/x', 'http://good.example:80801/'],
    ],
    [
      'paypal-*.example',
      ['https://paypal-login.example/x', 'https://paypal-.example/'],
      ['https://paypal.example/', 'https://www.paypal-login.example/', 'https://x.com/paypal-login.example'],
    ],
    [
      'good.example/*/verify*',
      [
        'https://good.example/a/verify',
        'https://good.example/a/b/verify.php?x=1',
        'https://good.example:8443/a/verify',
        'https://good.example/a/verif%79/',
      ],
      ['https://good.example/verify', 'https://other.example/a/verify'],
    ],
  ];
  test.each(cases)('%s', (entry, blocked, free) => {
    const match = listOf(entry);
    for (const url of blocked) expect({ url, is: isBlocked(match, url) }).toEqual({ url, is: true });
    for (const url of free) expect({ url, is: isBlocked(match, url) }).toEqual({ url, is: false });
  });
});

describe('a page is blocked however it is written:', () => {
  const match = listOf(
    'https://evil.example/login',
    'https://evil.example/',
    'https://evil.example/pay?to=7',
  );
  test.each([
    'https://evil.example/login',
    'http://evil.example/login',
    'https://EVIL.example./login',
    'https://evil.example/login/',
    'https://evil.example//login//',
    'https://evil.example:8443/login',
    'http://evil.example:443/login/?next=1#x',
    'https://evil.example/login;x',
    'https://evil.example/login;jsessionid=1;v=2/',
    'https://evil.example/;x/login',
    'https://evil.example/login%3Bx',
    'https://evil.example/%6Cogin',
    'https://evil.example/%6c%6F%67in%2f',
    'https://evil.example/login%5C',
    'https://evil.example\\login',
    'https://evil.example/./a/../login',
    'https://evil.example/a/%2E%2e/login',
    'https://evil.example/a/..;/login',
    'https://evil.example/a/..;x=1/%2e;/login;y/',
    'https://evil.example/a%2F..%2Flogin',
    'https://evil.example/?anything',
    'https://evil.example:8443/;x',
    'https://evil.example:8443/pay/?to=7',
    'https://evil.example/pay;x?to=%37',
  ])('%s', written => {
    // Every URL arrives here serialised.
    expect(match(new URL(written).href)).toMatchObject({ entry: expect.stringMatching(/^evil\.example\//) });
  });

  test.each([
    'https://evil.example/log',
    'https://evil.example/login2',
    'https://evil.example/a/login',
    'https://evil.example/pay',
    'https://www.evil.example/login',
  ])('but %s is another page', url => expect(match(url)).toBeUndefined());

  test('and an exception frees exactly what it names', () => {
    const { href } = new URL('https://site.example/ok');
    const excepting = listOf('site.example', '-site.example/ok\n-site.example/docs/*');
    expect(excepting(href)).toBeUndefined();
    for (const ending of ['/', ';x', '%2F']) expect(isBlocked(excepting, href + ending)).toBe(true);
    expect(isBlocked(excepting, 'https://site.example:8443/ok')).toBe(true);
    expect(isBlocked(excepting, 'https://site.example/docs/x')).toBe(false);
    expect(isBlocked(excepting, 'https://site.example/docs')).toBe(true);
  });

  test('also within an excepted folder', () => {
    const within = listOf(
      'site.example\nsite.example/docs/bad/*\nsite.example/docs/page',
      '-site.example/docs/*',
    );
    expect(isBlocked(within, 'https://site.example/docs/good/x')).toBe(false);
    for (const path of ['bad;x/a', 'bad', 'bad%2Fa', 'x/..;/bad/a', 'page/', 'page;x'])
      expect({ path, is: isBlocked(within, `https://site.example/docs/${path}`) }).toEqual({
        path,
        is: true,
      });
  });
});

describe('lists', () => {
  test('are reported with the entry that matched', () => {
    const match = listOf('other.example', 'evil.example\ngood.example/bad/*');
    expect(match('https://www.evil.example/')).toEqual({ list: 'list 2', entry: 'evil.example' });
    expect(match('https://good.example/bad/1')).toEqual({ list: 'list 2', entry: 'good.example/bad/*' });
    expect(listOf('*.evil.example')('https://a.evil.example/')?.entry).toBe('*.evil.example');
  });

  test('that are empty block nothing', () => {
    expect(createBlocklist([], key)('https://evil.example/')).toBeUndefined();
  });

  test('yield to an exception in any of them', () => {
    const match = listOf('evil.example', '-evil.example');
    expect(match('https://evil.example/')).toBeUndefined();
  });

  test('let the narrower entry decide', () => {
    const match = listOf('site.example\n-site.example/docs/*\nsite.example/docs/bad\n-ok.site.example');
    expect(isBlocked(match, 'https://site.example/')).toBe(true);
    expect(isBlocked(match, 'https://site.example/docs/x')).toBe(false);
    expect(isBlocked(match, 'https://site.example/docs/bad')).toBe(true);
    expect(isBlocked(match, 'https://a.ok.site.example/')).toBe(false);
    expect(isBlocked(match, 'https://other.site.example/')).toBe(true);
  });

  test('do not allow the listed page of an excepted site', () => {
    const match = listOf('forms.example/steal', '-forms.example');
    expect(isBlocked(match, 'https://forms.example/steal')).toBe(true);
    expect(isBlocked(match, 'https://forms.example/party')).toBe(false);
  });

  test('ignore text that is not a serialised URL', () => {
    const match = listOf('evil.example\nevil.example/x\npaypal-*.example');
    for (const url of [
      '',
      'evil.example',
      'ftp://evil.example/',
      'https:',
      'javascript:alert(1)//evil.example/',
    ]) {
      expect(match(url)).toBeUndefined();
    }
  });

  test('are compiled with a complaint for every line that cannot be used, up to twenty in full', () => {
    const text = ['co.uk', 'evil.example', 'two words', ...Array.from({ length: 30 }, () => '<p>')].join(
      '\n',
    );
    const { complaints, lines } = compileList(text, key);
    expect(lines).toBe(33);
    expect(complaints).toMatchObject({ refused: 1, unreadable: 31 });
    expect(complaints.examples).toHaveLength(20);
    expect(complaints.examples[0]).toStartWith('line 1: "co.uk" would block names of strangers');
    expect(complaints.examples[1]).toBe('line 3: "two words" is not one entry');
  });

  test('have a bounded number of patterns', () => {
    const text = Array.from({ length: patternsMax + 5 }, (_, index) => `evil${index}-*.example`).join('\n');
    const list = compileList(text, key);
    expect(entryCount(list)).toBe(patternsMax);
    expect(list.complaints.refused).toBe(5);
  });
});

const label = fc.stringMatching(/^[a-c]{1,2}$/);
const host = fc.array(label, { minLength: 1, maxLength: 4 }).map(labels => `${labels.join('.')}.example`);

test('a host is blocked exactly if it or something above it is listed and nothing nearer is excepted', () => {
  fc.assert(
    fc.property(
      fc.array(host, { maxLength: 8 }),
      fc.array(host, { maxLength: 4 }),
      host,
      (listed, excepted, asked) => {
        const match = listOf([...listed, ...excepted.map(name => `-${name}`)].join('\n'));
        const labels = asked.split('.');
        const above = labels.map((_, index) => labels.slice(index).join('.'));
        const decisive = above.find(name => excepted.includes(name) || listed.includes(name));
        const expected = decisive !== undefined && !excepted.includes(decisive);
        expect(isBlocked(match, `https://${asked}/`)).toBe(expected);
      },
    ),
    { numRuns: 500 },
  );
});

test('stars cover what the same regular expression covers', () => {
  const letters = fc.array(fc.constantFrom('a', 'b', '*'), { maxLength: 8 }).map(parts => parts.join(''));
  const text = fc.array(fc.constantFrom('a', 'b'), { maxLength: 10 }).map(parts => parts.join(''));
  fc.assert(
    fc.property(letters, text, (pattern, subject) => {
      const expression = new RegExp(`^${pattern.replaceAll('*', '.*')}$`);
      expect(coversWithStars(pattern, subject)).toBe(expression.test(subject));
    }),
    { numRuns: 2_000 },
  );
});

test('an entry blocks the page it was made of, whatever its path, and is serialised in one spelling', () => {
  const piece = fc.constantFrom(
    '/',
    'a',
    'b',
    '.',
    '..',
    ';',
    ';x',
    '%2F',
    '%5c',
    '%2e',
    '%6C',
    '%25',
    '%',
    '%3b',
  );
  const url = fc
    .tuple(fc.array(piece, { maxLength: 12 }), fc.constantFrom('', ':8443'), fc.constantFrom('', '?q=1'))
    .map(([path, port, query]) => new URL(`https://evil.example${port}/${path.join('')}${query}`).href);
  fc.assert(
    fc.property(url, fc.constantFrom('', '*'), (href, star) => {
      const isFolder = star !== '' && !href.includes('?');
      const line = isFolder ? `${href}/*` : href;
      const reading = readBlockLine(line);
      if (!('entries' in reading)) return;
      expect(isBlocked(listOf(line), isFolder ? new URL(`${href}/x`).href : href)).toBe(true);
      for (const entry of reading.entries) expect(readBlockLine(lineOf(entry))).toEqual({ entries: [entry] });
    }),
    { numRuns: 2_000 },
  );
});
