import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Problem } from '../base/errors.ts';
import { jsonDepthMax, objectMembersMax, parseStrictJson, valuesMax } from './read-json.ts';
import { createBody } from './schemas.ts';

function detailOf(source: string): string {
  try {
    parseStrictJson(source);
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid_json') return error.detail;
    throw error;
  }
  throw new Error(`accepted: ${source.slice(0, 100)}`);
}

const json = fc.json({ maxDepth: 5, noUnicodeString: false });

describe('valid JSON', () => {
  test('is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(json, source => {
        expect(parseStrictJson(source)).toEqual(JSON.parse(source));
      }),
    );
  });

  test.each(['null', '0', '-0.5e+10', '"x"', '[]', '{}', ' \t\r\n{ } ', '[[],{},""]', '{"":""}'])(
    '%j is fine',
    source => {
      expect(parseStrictJson(source)).toEqual(JSON.parse(source));
    },
  );

  test('may hold quotes, colons, braces and backslashes inside strings', () => {
    for (const text of [
      ':',
      '":',
      '": ',
      '\\',
      '\\":',
      '{"a":1',
      '[[[[',
      ']]}}',
      '"',
      '\\\\"\\',
      'a\\":"b',
    ]) {
      const value = { [text]: text, list: [text, text] };
      expect(parseStrictJson(JSON.stringify(value))).toEqual(value);
    }
  });

  test('may name a key again in another object', () => {
    const source = '[{"a":1},{"a":2},{"a":{"a":{"a":[{"a":3}]}}}]';
    expect(parseStrictJson(source)).toEqual(JSON.parse(source));
  });
});

describe('more than any legitimate request has', () => {
  const object = (size: number, nested = '1') =>
    `{${Array.from({ length: size }, (_, index) => `"k${index}":${index === 0 ? nested : 1}`)}}`;

  test('of members in one object is rejected, wherever the object is', () => {
    expect(parseStrictJson(object(objectMembersMax))).toEqual(JSON.parse(object(objectMembersMax)));
    const nested = object(objectMembersMax, `[${object(objectMembersMax)},${object(objectMembersMax)}]`);
    expect(parseStrictJson(nested)).toEqual(JSON.parse(nested));
    const tooMany = object(objectMembersMax + 1);
    for (const source of [
      tooMany,
      `[[],${tooMany}]`,
      `{"a":{"b":[${tooMany}]}}`,
      `[{"a":${tooMany},"b":1}]`,
    ]) {
      expect(detailOf(source)).toBe('An object has more than 64 members.');
    }
  });

  test('of members or items in all is rejected', () => {
    const pair = '{"a":1,"b":2}';
    const pairs = (count: number) => `[${Array.from({ length: count }, () => pair)}]`;
    // A pair has a bracket, a comma inside and one after it.
    const most = Math.floor(valuesMax / 3);
    expect(parseStrictJson(pairs(most))).toHaveLength(most);
    for (const source of [
      pairs(most + 1),
      `[${'0,'.repeat(valuesMax)}0]`,
      `[${'{"a":[[]]},'.repeat(100_001)}0]`,
    ]) {
      expect(detailOf(source)).toBe('The body has more than 400000 values.');
    }
  });

  test('is more than ten thousand links with everything have', () => {
    const link = {
      ...Object.fromEntries(Object.keys(createBody.shape).map(field => [field, 1])),
      tags: Array.from({ length: 20 }, (_, index) => `tag ${index}`),
    };
    const links = Array.from({ length: 10_000 }, () => link);
    expect(parseStrictJson(JSON.stringify({ links }))).toEqual({ links });
  });
});

describe('a key that appears twice in one object', () => {
  test.each([
    ['at the top', '{"longUrl":"a","longUrl":"b"}', '"longUrl"', 'column 16'],
    ['with equal values', '{"a":1,"a":1}', '"a"', 'column 8'],
    ['far apart', '{"a":1,"b":2,"c":3,"a":4}', '"a"', 'column 20'],
    ['in a nested object', '{"links":[{"x":1},{"y":1,"y":2}]}', '"y"', 'column 26'],
    ['in another spelling', '{"a":1,"\\u0061":2}', '"a"', 'column 8'],
    ['with white space around the colon', '{"a" : 1, "a"\n:\t2}', '"a"', 'column 11'],
    ['on another line', '{\n  "a": 1,\n  "a": 2\n}', '"a"', 'line 3, column 3'],
    ['empty', '{"":1,"":2}', '""', 'column 7'],
    ['ending in a backslash', '{"a\\\\":1,"a\\\\":2}', '"a\\\\"', 'column 10'],
    ['__proto__', '{"__proto__":1,"__proto__":2}', '"__proto__"', 'column 16'],
    ['__proto__ with objects', '{"__proto__":{"a":1},"__proto__":{"b":1}}', '"__proto__"', 'column 22'],
  ])('is rejected and named: %s', (_where, source, key, position) => {
    expect(detailOf(source)).toStartWith(`The key ${key} appears twice in one object at `);
    expect(detailOf(source)).toContain(`${position}.`);
  });

  test('is found at any place', () => {
    const members = fc.uniqueArray(fc.tuple(fc.string(), fc.jsonValue({ maxDepth: 2 })), {
      selector: ([key]) => key,
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(members, fc.nat(), fc.nat(), (pairs, from, to) => {
        const written = pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
        expect(() => parseStrictJson(`[{${written.join(',')}}]`)).not.toThrow();
        written.splice(to % (written.length + 1), 0, written[from % written.length]!);
        expect(detailOf(`[{${written.join(',')}}]`)).toContain('appears twice');
      }),
    );
  });

  test('is quoted up to a maximum length', () => {
    const key = 'k'.repeat(5000);
    expect(detailOf(`{"${key}":1,"${key}":2}`).length).toBeLessThan(150);
  });
});

describe('nesting', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

  test('is allowed up to the limit and not beyond', () => {
    expect(parseStrictJson(nested(jsonDepthMax))).toBeArray();
    expect(detailOf(nested(jsonDepthMax + 1))).toContain('more than 32 levels deep at line 1, column 33.');
  });

  test('counts objects and arrays alike', () => {
    expect(parseStrictJson(`${'[{"a":'.repeat(16)}1${'}]'.repeat(16)}`)).toBeArray();
    expect(detailOf(`${'[{"a":'.repeat(16)}[]${'}]'.repeat(16)}`)).toContain('levels deep');
  });

  test('of sibling values does not add up', () => {
    expect(parseStrictJson(`[${Array.from({ length: 1000 }, () => '[{}]').join(',')}]`)).toHaveLength(1000);
  });

  test('of millions of brackets is rejected, closed or not', () => {
    expect(detailOf(nested(4_000_000))).toContain('levels deep');
    expect(detailOf('['.repeat(8_000_000))).toContain('levels deep');
    expect(detailOf('{"a":'.repeat(1_000_000))).toContain('levels deep');
  });
});

describe('keys that have a meaning to the runtime', () => {
  test('stay own properties and change no prototype', () => {
    const value = parseStrictJson('{"__proto__":{"isAdmin":true},"constructor":{"prototype":1}}') as Record<
      string,
      unknown
    >;
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
    expect(value.isAdmin).toBeUndefined();
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).isAdmin).toBeUndefined();
  });
});

describe('broken JSON is explained:', () => {
  test.each([
    ['{"a":1,}', 'Expected a key in double quotes but found "}" at line 1, column 8.'],
    ['{a:1}', 'Expected a key in double quotes but found "a" at line 1, column 2.'],
    ["{'a':1}", 'Expected a key in double quotes but found "\'" at line 1, column 2.'],
    ['{"a" 1}', 'Expected ":" but found "1" at line 1, column 6.'],
    ['{"a":1 "b":2}', 'Expected "," or "}" but found a double quote at line 1, column 8.'],
    ['{"a":\n  tru}', 'Expected a value but found "t" at line 2, column 3.'],
    ['{"a":undefined}', 'Expected a value but found "u" at line 1, column 6.'],
    ['[1 2]', 'Expected "," or "]" but found "2" at line 1, column 4.'],
    ['[1,]', 'Expected a value but found "]" at line 1, column 4.'],
    ['[1,2', 'Expected "," or "]" but found the end of the body at line 1, column 5.'],
    ['{"a":', 'Expected a value but found the end of the body at line 1, column 6.'],
    ['{} x', 'Expected the end of the body but found "x" at line 1, column 4.'],
    ['{}{}', 'Expected the end of the body but found "{" at line 1, column 3.'],
    ['{"a":01}', 'Expected "," or "}" but found "1" at line 1, column 7.'],
    ['[.5]', 'Expected a value but found "." at line 1, column 2.'],
    ['[NaN]', 'Expected a value but found "N" at line 1, column 2.'],
    ['"abc', 'A string is not closed; it begins at line 1, column 1.'],
    ['{"a":"x\\"}', 'A string is not closed; it begins at line 1, column 6.'],
    [
      '["a\nb"]',
      'A string contains a bare control character or an unknown escape; it begins at line 1, column 2.',
    ],
    [
      '["\\x41"]',
      'A string contains a bare control character or an unknown escape; it begins at line 1, column 2.',
    ],
    ['// x\n{}', 'Expected a value but found "/" at line 1, column 1.'],
    ['\0', 'Expected a value but found U+0000 at line 1, column 1.'],
    ['\u00a0{}', 'Expected a value but found U+00A0 at line 1, column 1.'],
    ['   ', 'Expected a value but found the end of the body at line 1, column 4.'],
    ['😀', 'Expected a value but found "😀" at line 1, column 1.'],
    ['<html>', 'Expected a value but found "<" at line 1, column 1.'],
  ])('%j', (source, detail) => {
    expect(detailOf(source)).toBe(detail);
  });

  test('at any position of the error, within the number of values that a legitimate body has', () => {
    const many = '0,'.repeat(valuesMax - 10);
    expect(detailOf(`[${many}x]`)).toContain('found "x" at line 1, column 799982.');
    expect(detailOf(`[${many}{"a":1,"a":1}]`)).toContain('appears twice');
    expect(detailOf(`[${many}${many}x]`)).toContain('values');
  });

  test('everything that JSON.parse rejects gets a position, in few words', () => {
    const damage = fc.tuple(
      json,
      fc.nat(),
      fc.constantFrom('', '"', ',', ':', '{', ']', '\\', '\n', 'x', '0', '-'),
    );
    fc.assert(
      fc.property(damage, ([source, at, insert]) => {
        const position = at % source.length;
        const damaged = source.slice(0, position) + insert + source.slice(position + 1);
        try {
          JSON.parse(damaged);
        } catch {
          expect(detailOf(damaged)).toMatch(/ at line \d+, column \d+\.$/);
          expect(detailOf(damaged).length).toBeLessThan(160);
        }
      }),
      { numRuns: 3000 },
    );
  });
});
