/** How long a URL and its host may be, and that nothing longer is parsed. */
import { describe, expect, spyOn, test } from 'bun:test';
import { createUrlPolicy, type UrlReason, urlBytesMax, urlInputBytesMax } from './url-policy.ts';

const policy = createUrlPolicy({ ownHosts: ['sho.rt'] });

/** Alternating between two classes, which the parser would have to sort. */
const combiningMarks = (count: number): string => '\u0301\u0316'.repeat(count / 2);

const refused: readonly (readonly [reason: UrlReason, input: string])[] = [
  ['too_long', `https://example.com/${'../'.repeat(urlInputBytesMax / 3)}`],
  ['too_long', `https://example.com/${'é'.repeat(urlInputBytesMax / 2)}`],
  ['too_long', `${' '.repeat(urlInputBytesMax)}https://example.com/`],
  ['invalid_host', `https://${'a'.repeat(64)}.example/`],
  ['invalid_host', `https://xn--${'a'.repeat(60)}.example/`],
  ['invalid_host', `https://${'a.'.repeat(124)}example/`],
  ['invalid_host', `https://${'ä'.repeat(63)}.example/`],
  ['scheme_not_allowed', `file://${combiningMarks(2_000)}/`],
  ['credentials', `https://user@${combiningMarks(2_000)}/`],
];

describe('a URL is rejected for its size:', () => {
  const named = refused.map(([reason, input]) => [reason, input.slice(0, 60), input] as const);
  test.each(named)('%s: %s', (reason, _shown, input) => {
    expect(policy.judge(input)).toEqual({ ok: false, reason, detail: expect.stringMatching(/^[A-Z].*\.$/) });
  });
});

test('a URL may be written longer than it is stored', () => {
  const long = `https://example.com/${'./'.repeat((urlInputBytesMax - 30) / 2)}end`;
  expect(long.length).toBeGreaterThan(urlBytesMax);
  expect(policy.judge(long)).toEqual({ ok: true, url: 'https://example.com/end' });
});

describe('a host that is longer than any name', () => {
  test.each([
    ['combining marks', `https://${combiningMarks(1_000)}.example/`],
    ['percent-encoded marks', `https://a${'%CC%81%CC%96'.repeat(200)}.example/`],
    ['marks behind user info', `https://user:secret@${combiningMarks(1_000)}/`],
    ['marks with a port', `https://${combiningMarks(1_000)}:443/`],
    ['marks behind backslashes', `https:\\\\${combiningMarks(1_000)}`],
    ['marks behind no slashes', `https:${combiningMarks(1_000)}`],
    ['marks among tabs', `\x01ht\ntps:\t/${'\u0301\t'.repeat(1_000)}`],
    ['marks of another scheme', `ftp://${combiningMarks(1_000)}/`],
  ])('is refused before anything parses it: %s', (_what, input) => {
    const parse = spyOn(URL, 'parse');
    try {
      expect(policy.judge(input)).toMatchObject({ ok: false });
      expect(parse).not.toHaveBeenCalled();
    } finally {
      parse.mockRestore();
    }
  });

  test('leaves room for the longest possible one, however it is written', () => {
    const name = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;
    const encoded = [...name].map(letter => `%${letter.charCodeAt(0).toString(16)}`).join('');
    for (const host of [name, `${name}.`, encoded, `${name}.:8443`]) {
      expect(policy.judge(`https://${host}/`)).toMatchObject({ ok: true });
    }
    const long = `${'漢'.repeat(20)}.${'字'.repeat(20)}.example`;
    for (const host of [long, encodeURIComponent(long)]) {
      expect(policy.judge(`https://${host}/`)).toEqual({ ok: true, url: new URL(`https://${long}/`).href });
    }
  });
});
