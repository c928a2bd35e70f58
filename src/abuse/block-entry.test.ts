import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type EntryKind, lineOf, readBlockLine } from './block-entry.ts';

const understood: readonly (readonly [line: string, kind: EntryKind, text: string])[] = [
  ['evil.example', 'domain', 'evil.example'],
  ['  Evil.EXAMPLE.  ', 'domain', 'evil.example'],
  ['evil.example # seen in March', 'domain', 'evil.example'],
  ['evil.example\r', 'domain', 'evil.example'],
  ['\ufeffevil.example', 'domain', 'evil.example'],
  ['shop.evil.co.uk', 'domain', 'shop.evil.co.uk'],
  ['evil.github.io', 'domain', 'evil.github.io'],
  ['bücher.example', 'domain', 'xn--bcher-kva.example'],
  ['_dmarc.evil.example', 'domain', '_dmarc.evil.example'],
  ['198.51.100.7', 'domain', '198.51.100.7'],
  ['2001:db8::1', 'domain', '[2001:db8::1]'],
  ['[2001:DB8:0::1]', 'domain', '[2001:db8::1]'],
  ['||evil.example^', 'domain', 'evil.example'],
  ['0.0.0.0 evil.example', 'domain', 'evil.example'],
  ['127.0.0.1\tevil.example  # ads', 'domain', 'evil.example'],
  ['::1 evil.example', 'domain', 'evil.example'],
  ['suffix:zip', 'domain', 'zip'],
  ['suffix:co.uk', 'domain', 'co.uk'],
  ['*.evil.example', 'subdomains', 'evil.example'],
  ['https://evil.example/', 'page', 'evil.example/'],
  ['https://evil.example', 'page', 'evil.example/'],
  ['HTTP://Evil.example:80/Login', 'page', 'evil.example/Login'],
  ['evil.example/login', 'page', 'evil.example/login'],
  ['evil.example/a//b/%6Cogin#top', 'page', 'evil.example/a/b/login'],
  ['https://evil.example:8443/x', 'page', 'evil.example:8443/x'],
  ['https://evil.example/login/', 'page', 'evil.example/login'],
  ['evil.example/a%2Fb%5c', 'page', 'evil.example/a/b'],
  ['evil.example/view;id=7', 'page', 'evil.example/view;id=7'],
  ['evil.example/pay/?to=7', 'url', 'evil.example/pay?to=7'],
  ['evil.example/bad%2F/*', 'folder', 'evil.example/bad/'],
  ['evil.example/a?b/*', 'pattern', 'evil.example/a?b/*'],
  ['https://evil.example/?id=7', 'url', 'evil.example/?id=7'],
  ['http://198.51.100.7/x', 'page', '198.51.100.7/x'],
  ['evil.example/bad/*', 'folder', 'evil.example/bad/'],
  ['https://evil.example/*', 'domain', 'evil.example'],
  ['evil.example:8080', 'folder', 'evil.example:8080/'],
  ['paypal-*.example', 'pattern', 'paypal-*.example'],
  ['*.cdn*.evil.example', 'pattern', '*.cdn*.evil.example'],
  ['*evil*', 'pattern', '*evil*'],
  ['https://good.example/*/verify*', 'pattern', 'good.example/*/verify*'],
];

describe('a line of a list is understood:', () => {
  test.each(understood)('%j', (line, kind, text) => {
    expect(readBlockLine(line)).toEqual({ entries: [{ kind, text, isException: false }] });
  });

  test.each(['-good.example', '- good.example', '@@||good.example^'])('%j, as an exception', line => {
    expect(readBlockLine(line)).toEqual({
      entries: [{ kind: 'domain', text: 'good.example', isException: true }],
    });
  });

  test('a hosts-file line names several hosts, and those of the machine itself are skipped', () => {
    expect(readBlockLine('0.0.0.0 a.evil.example b.evil.example')).toMatchObject({
      entries: [{ text: 'a.evil.example' }, { text: 'b.evil.example' }],
    });
    expect(readBlockLine('127.0.0.1 localhost localhost.localdomain')).toEqual({ entries: [] });
    expect(readBlockLine('::1 ip6-localhost ip6-loopback')).toEqual({ entries: [] });
    expect(readBlockLine('0.0.0.0 0.0.0.0')).toEqual({ entries: [] });
  });

  test.each(['', '   ', '# a comment', '; another', '! one more', '\t#'])('%j has no entry', line => {
    expect(readBlockLine(line)).toEqual({ entries: [] });
  });
});

describe('a line that would block names of other owners is rejected:', () => {
  test.each(['com', 'co.uk', 'COM', 'github.io', '||com^', '0.0.0.0 com', '*.com', '*.co.uk', '*.github.io'])(
    '%j',
    line => {
      expect(readBlockLine(line)).toMatchObject({
        complaint: expect.stringContaining('strangers'),
        isUnreadable: false,
      });
    },
  );
  test.each(['*', '*.*', 'a*.com', '*.*.co.uk', '*-x.top', 'kawasaki.jp', 'https://com/*'])('%j', line => {
    expect(readBlockLine(line)).toMatchObject({ complaint: expect.any(String), isUnreadable: false });
  });
});

describe('an invalid line is distinguished from a valid one:', () => {
  test.each([
    'goo',
    '<html>',
    '<!DOCTYPE html>',
    'two words',
    'evil..example',
    'evil example.com',
    'ftp://evil.example/',
    'https://user@evil.example/',
    'https://',
    'evil.example\\path',
    '256.1.1.1',
    '0.0.0.0 evil..example',
    'evil.example,2026-01-01',
    `${'a'.repeat(254)}.example`,
    `evil.example/${'a'.repeat(2048)}`,
  ])('%j', line => {
    expect(readBlockLine(line)).toMatchObject({ complaint: expect.any(String), isUnreadable: true });
  });

  test('a folder deeper than the lookup limit is rejected', () => {
    expect(readBlockLine('evil.example/1/2/3/4/5/6/7/*')).toMatchObject({ entries: [{ kind: 'folder' }] });
    expect(readBlockLine('evil.example/1/2/3/4/5/6/7/8/*')).toMatchObject({ isUnreadable: false });
  });
});

test('a parsed entry can be written down and is parsed the same again', () => {
  for (const [line] of understood) {
    for (const mark of ['', '-']) {
      const reading = readBlockLine(mark + line.replace('\ufeff', ''));
      if (!('entries' in reading)) continue;
      for (const entry of reading.entries) expect(readBlockLine(lineOf(entry))).toEqual({ entries: [entry] });
    }
  }
});

test('no line, whatever is in it, crashes the parser', () => {
  const word = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webUrl(),
    fc.domain(),
    fc.ipV4(),
    fc.constantFrom('*', '-', '||', '#'),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 4 }), fc.constantFrom('', ' ', '.', '/'), (words, joint) => {
      const reading = readBlockLine(words.join(joint));
      expect('entries' in reading || reading.complaint.length > 0).toBe(true);
    }),
  );
});
