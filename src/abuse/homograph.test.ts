import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { isWholeDisguise, oddMixture, shownHost, skeletonOf } from './homograph.ts';

describe('a host in punycode', () => {
  test('is decoded, and left as it is when it cannot be decoded', () => {
    expect(shownHost('xn--80ak6aa92e.com')).toBe('аррӏе.com');
    expect(shownHost('www.example.com')).toBe('www.example.com');
    expect(shownHost('xn--a.example')).toBe('xn--a.example');
  });
});

describe('a label mixes scripts oddly:', () => {
  test.each(['pаypal', 'gооgle', 'αpple', 'microsoftω', 'օffice', 'приветhello', 'ελλάδαрусский'])(
    '%s',
    label => {
      expect(oddMixture(label)).toBeArray();
    },
  );
  test.each([
    'paypal',
    'bücher',
    'привет',
    'ελλάδα',
    'привет-123',
    '日本語',
    'ひらがなと漢字とカタカナabc',
    '한국어abc',
    'ไทยabc',
    'мойсайт2026',
    'e\u0301te',
    '123-456',
    '',
  ])('not %s', label => {
    expect(oddMixture(label)).toBeUndefined();
  });
});

describe('similar-looking texts have the same skeleton:', () => {
  test.each([
    ['paypal', 'pаypаl'],
    ['paypal', 'paypa1'],
    ['paypal', 'pàypäl'],
    ['apple', 'аррӏе'],
    ['microsoft', 'rnicrosoft'],
    ['wellsfargo', 'vvellsfargo'],
    ['google', 'g00gle'],
    ['instagram', 'lnstagram'],
    ['netflix', 'nеtflіx'],
  ])('%s and %s', (one, other) => {
    expect(skeletonOf(one)).toBe(skeletonOf(other));
  });

  test('and others have not', () => {
    expect(skeletonOf('paypal')).not.toBe(skeletonOf('papal'));
    expect(skeletonOf('google')).not.toBe(skeletonOf('goggle'));
  });

  test('whatever the text, folding it never fails', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        expect(typeof skeletonOf(text)).toBe('string');
        oddMixture(text);
        isWholeDisguise(text);
      }),
    );
  });
});

test('a label made only of foreign letters that look Latin is distinguished from a word of that language', () => {
  for (const label of ['сосе', 'аррӏе', 'ѕсоре']) expect(isWholeDisguise(label)).toBe(true);
  for (const label of ['привет', 'новости', 'cocoa', 'о', '日本']) expect(isWholeDisguise(label)).toBe(false);
});
