import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { languageOf, noQueryTraits, queryTraitsOf, visitKey, visitTraitsOf } from './visit.ts';

describe('the language of a visit', () => {
  test.each([
    ['de-DE,de;q=0.9,en;q=0.8', 'de'],
    ['en', 'en'],
    ['EN-us', 'en'],
    ['fil-PH, en;q=0.5', 'fil'],
    ['pt;q=0.3, en;q=0.9', 'pt'],
    [' de', 'de'],
    ['zh_CN', 'zh'],
    ['', ''],
    ['*', ''],
    ['*, de', ''],
    ['x-klingon', ''],
    ['deutsch', ''],
    ['d1', ''],
    ['1de', ''],
    ['dé', ''],
    ['-de', ''],
  ])('%j is %j', (header, language) => {
    expect(languageOf(header)).toBe(language);
  });

  test('any header gives two or three small letters, or nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), header => {
        expect(languageOf(header)).toMatch(/^(?:[a-z]{2,3})?$/);
      }),
    );
  });
});

describe('the query of a visit', () => {
  test('names a campaign, and says that a QR code was scanned', () => {
    const query =
      'utm_source=news&utm_medium=email&utm_campaign=spring&utm_term=shoes&utm_content=top&qr=1&x=2';
    expect(queryTraitsOf(query)).toEqual({
      utmSource: 'news',
      utmMedium: 'email',
      utmCampaign: 'spring',
      utmTerm: 'shoes',
      utmContent: 'top',
      via: 'qr',
    });
    expect(queryTraitsOf('')).toEqual(noQueryTraits);
  });

  test.each([
    ['qr', 'qr'],
    ['qr=', 'qr'],
    ['a=1&qr', 'qr'],
    ['qr&a=1', 'qr'],
    ['', ''],
    ['qrx=1', ''],
    ['xqr', ''],
    ['a=qr', ''],
    ['QR', ''],
  ])('%j is a visit via %j', (query, via) => {
    expect(queryTraitsOf(query).via).toBe(via);
  });

  test.each([
    ['spring%20sale', 'spring sale'],
    ['spring+sale', 'spring sale'],
    ['Fr%C3%BChling', 'Frühling'],
    ['a%3Db%26c', 'a=b&c'],
    ['a=b', 'a=b'],
    ['%20 x %20', 'x'],
    ['a%00b%0Ac%7Fd%C2%85e', 'abcde'],
    ['100%', '100%'],
    ['%FF%41', '\u{FFFD}A'],
    ['x'.repeat(200), 'x'.repeat(100)],
    [`${'x'.repeat(99)}%20y`, 'x'.repeat(99)],
    ['', ''],
    ['%20', ''],
    ['(other)', ''],
  ])('the value %j is kept as %j', (encoded, value) => {
    expect(queryTraitsOf(`utm_source=${encoded}`).utmSource).toBe(value);
  });

  test('of a repeated parameter counts the first value that is not empty', () => {
    expect(queryTraitsOf('utm_term=&utm_term=a&utm_term=b').utmTerm).toBe('a');
  });

  test('is read only up to the maximum length', () => {
    expect(queryTraitsOf(`${'x'.repeat(2_000)}&qr`).via).toBe('');
  });

  test('any query gives short texts without control characters, which can be stored as UTF-8', () => {
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.string().map(encodeURIComponent), fc.string());
    fc.assert(
      fc.property(value, text => {
        for (const each of Object.values(queryTraitsOf(`utm_source=${text}`))) {
          expect(each.length).toBeLessThanOrEqual(100);
          expect(each).not.toMatch(/\p{Cc}/u);
          expect(each.isWellFormed()).toBe(true);
        }
      }),
    );
  });
});

describe('the traits of a visit', () => {
  test('come from its own query, and each missing one from the destination’s', () => {
    const visit = queryTraitsOf('utm_source=visit');
    const destination = queryTraitsOf('utm_source=destination&utm_medium=web&qr=1');
    expect(visitTraitsOf('de', visit, destination)).toEqual({
      ...noQueryTraits,
      language: 'de',
      utmSource: 'visit',
      utmMedium: 'web',
    });
  });

  test('have a key that differs where they do', () => {
    const trait = fc.constantFrom('', 'a', 'b', 'aa');
    const traits = fc.record({
      language: trait,
      utmSource: trait,
      utmMedium: trait,
      utmCampaign: trait,
      utmTerm: trait,
      utmContent: trait,
      via: trait,
    });
    fc.assert(
      fc.property(traits, traits, (one, other) => {
        expect(visitKey(one) === visitKey(other)).toBe(Bun.deepEquals(one, other));
      }),
    );
  });
});
