import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Problem } from '../base/errors.ts';
import { JsonReader } from './json-reader.ts';
import { jsonLimits, parseInTurns, parseStrictJson } from './read-json.ts';

/** Reads this many bytes at a time; a problem is a result like any other. */
function outcomeOf(bytes: Uint8Array, bytesAtOnce: number, limits = jsonLimits): unknown {
  const reader = new JsonReader(bytes, limits);
  try {
    while (!reader.readOn(bytesAtOnce));
    return reader.value;
  } catch (error) {
    if (error instanceof Problem) return error.detail;
    throw error;
  }
}

function strictOutcomeOf(source: string): unknown {
  try {
    return parseStrictJson(source);
  } catch (error) {
    if (error instanceof Problem) return error.detail;
    throw error;
  }
}

const json = fc.json({ maxDepth: 5, stringUnit: 'binary' });
const sizes = [1, 2, 3, 7, 64, 1_000_000];

describe('JSON read in pieces', () => {
  test('has the value that JSON.parse gives it, whatever the size of the pieces', () => {
    fc.assert(
      fc.property(json, source => {
        for (const size of sizes) expect(outcomeOf(Buffer.from(source), size)).toEqual(JSON.parse(source));
      }),
    );
  });

  test('has the same errors as JSON that is read whole', () => {
    const breakage = fc.constantFrom(
      '',
      '"',
      ',',
      ':',
      '{',
      ']',
      '\\',
      '\n',
      'x',
      '0',
      '-',
      '\\u12',
      '"a":1,',
    );
    fc.assert(
      fc.property(json, fc.nat(), breakage, (source, at, insert) => {
        const position = at % source.length;
        const damaged = (source.slice(0, position) + insert + source.slice(position + 1)).toWellFormed();
        const expected = strictOutcomeOf(damaged);
        for (const size of sizes) expect(outcomeOf(Buffer.from(damaged), size)).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  test('keeps __proto__ an own property', () => {
    const value = outcomeOf(Buffer.from('{"__proto__":{"isAdmin":true}}'), 5) as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(value.isAdmin).toBeUndefined();
  });

  test('may begin with a byte order mark, and a string in it too', () => {
    expect(outcomeOf(Buffer.from('\ufeff["\ufeffé"]'), 3)).toEqual(['\ufeffé']);
  });

  test('must be UTF-8', () => {
    const broken = [Buffer.from('["é'), Uint8Array.of(0xff), Buffer.from('"]')];
    expect(outcomeOf(Buffer.concat(broken), 4)).toBe('The request body is not valid UTF-8.');
  });
});

describe('a string of more than one piece', () => {
  const lengths = [65_534, 65_535, 65_536, 65_537, 65_540, 200_000];

  test.each(['a', 'é', '漢', '😀', '"', '\\', '\n', '\ud83d', '\u0301'])('of %j is read unchanged', unit => {
    for (const length of lengths) {
      for (const before of ['', 'a', 'ab', 'abc']) {
        const value = { [before + unit.repeat(length / 4)]: before + unit.repeat(length) };
        expect(outcomeOf(Buffer.from(JSON.stringify(value)), 65_536)).toEqual(value);
      }
    }
  });

  test('of escaped pairs is read unchanged', () => {
    const pair = '\\ud83d\\ude00';
    for (const before of ['', 'a', 'ab', 'abc', 'abcd', 'abcde']) {
      const value = outcomeOf(Buffer.from(`"${before}${pair.repeat(20_000)}"`), 65_536);
      expect(value).toBe(before + '😀'.repeat(20_000));
    }
  });

  test('must end, and have no bad escape far inside', () => {
    const long = '\\"'.repeat(100_000);
    const start = 'at line 1, column 2.';
    expect(outcomeOf(Buffer.from(`["${long}`), 65_536)).toBe(`A string is not closed; it begins ${start}`);
    const bad = `A string contains a bare control character or an unknown escape; it begins ${start}`;
    for (const fault of ['\\x', '\\u00', '\u0001']) {
      expect(outcomeOf(Buffer.from(`["${long}${fault}"]`), 65_536)).toBe(bad);
    }
  });
});

test('the length of a number is limited', () => {
  expect(outcomeOf(Buffer.from(`[${'1'.repeat(2_000)}]`), 100)).toBe(
    'A number is too long; it begins at line 1, column 2.',
  );
});

test('a large body is read in turns, between which others run', async () => {
  const value = {
    links: Array.from({ length: 20_000 }, (_, index) => ({ longUrl: `https://a.example/${index}` })),
  };
  const bytes = Buffer.from(JSON.stringify(value));
  let turns = 0;
  let isReading = true;
  const others = (): void => {
    turns += 1;
    if (isReading) setImmediate(others);
  };
  setImmediate(others);
  expect(await parseInTurns(bytes)).toEqual(value);
  isReading = false;
  expect(turns).toBeGreaterThan(Math.floor(bytes.length / (64 * 1024)) - 2);
});

test('stray continuation bytes are rejected where they begin, without reading to the end', () => {
  const bytes = Buffer.concat([Buffer.from('["'), Buffer.alloc(1_000_000, 0x80)]);
  // A reader of the whole body would report a string that is not closed.
  expect(outcomeOf(bytes, 64 * 1024)).toContain('UTF-8');
});

describe('objects in a list that the runtime parses', () => {
  const small = { ...jsonLimits, depthMax: 4, membersMax: 3, valuesMax: 30 };
  const key = fc.constantFrom('a', 'b', '__proto__', 'ü', 'c\\"', '\\u0061');
  const { value } = fc.letrec(tie => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom('1', 'null', '"x"', '"\\u00e9,}"', '"ü"', '01', '"\u0001"', '{', '', 'tru', '"\\'),
      fc.array(tie('value') as fc.Arbitrary<string>, { maxLength: 4 }).map(items => `[${items.join(',')}]`),
      fc
        .array(fc.tuple(key, tie('value') as fc.Arbitrary<string>), { maxLength: 4 })
        .map(members => `{${members.map(([name, inner]) => `"${name}": ${inner}`).join(', ')}}`),
    ),
  }));
  const list = fc
    .array(value as fc.Arbitrary<string>, { maxLength: 6 })
    .chain(items => fc.constantFrom(',', ', ', ',\n').map(comma => `{"links":[${items.join(comma)}]}`));

  test('have the same value, limits and errors as if they were read piece by piece', () => {
    fc.assert(
      fc.property(list, fc.constantFrom(...sizes), (source, size) => {
        const bytes = Buffer.from(source);
        expect(outcomeOf(bytes, size, small)).toEqual(outcomeOf(bytes, size, { ...small, itemBytesMax: 0 }));
      }),
      { numRuns: 3_000 },
    );
  });
});
