/** Every part of a request has a limit, and nothing processes input beyond it; which texts are times. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { z } from 'zod';
import { moment, parseIsoTime, text, upTo } from './schemas.ts';

/** Fields that a handler checks itself, under its own limits. */
const judgedByHandlers = new Set([
  'signInBody|0.email',
  'signInBody|0.password',
  'signInBody|1.key',
  'acceptBody.token',
  'readInvitationBody.token',
  'bulkBody.links[]',
]);
/** The limit of a long URL; no field needs more. */
const lengthMax = 8_192;

interface Check {
  readonly _zod: {
    readonly def: { readonly check: string; readonly maximum?: number; readonly abort?: boolean };
  };
}

/** The parts of a schema that have no limit, or one that is checked too late. */
function unlimitedParts(schema: z.core.$ZodType, place: string): string[] {
  const def = schema._zod.def as z.core.$ZodTypeDef & Readonly<Record<string, unknown>>;
  const inner = (key: string, at: string): string[] => unlimitedParts(def[key] as z.core.$ZodType, at);
  switch (def.type) {
    case 'string':
      return isLimited((def.checks as Check[] | undefined)?.[0]) ? [] : [place];
    case 'array':
      return [...(isCounted(def.checks) ? [] : [place]), ...inner('element', `${place}[]`)];
    case 'pipe':
      return [def.in, def.out].flatMap(part => unlimitedParts(part as z.core.$ZodType, place));
    case 'transform':
      return [];
    case 'object':
      return Object.entries(def.shape as Record<string, z.core.$ZodType>).flatMap(([name, part]) =>
        unlimitedParts(part, `${place}.${name}`),
      );
    case 'union':
      return (def.options as z.core.$ZodType[]).flatMap((option, index) =>
        unlimitedParts(option, `${place}|${index}`),
      );
    case 'optional':
    case 'nullable':
    case 'default':
      return inner('innerType', place);
    case 'enum':
    case 'literal':
    case 'boolean':
    case 'null':
    case 'number':
    case 'int':
      return [];
    default:
      return judgedByHandlers.has(place) ? [] : [place];
  }
}

const isLimited = (check: Check | undefined): boolean => {
  const { check: kind, maximum = Number.POSITIVE_INFINITY, abort } = check?._zod.def ?? {};
  return kind === 'max_length' && abort === true && maximum <= lengthMax;
};

const isCounted = (checks: unknown): boolean =>
  ((checks as Check[] | undefined) ?? []).some(({ _zod }) => _zod.def.check === 'max_length');

const folder = import.meta.dir;
const exported: [string, z.core.$ZodType][] = [];
for (const file of new Bun.Glob('*schemas.ts').scanSync(folder)) {
  const module = (await import(join(folder, file))) as Record<string, unknown>;
  for (const [name, value] of Object.entries(module)) {
    if (/(?:Body|Parameters)$/.test(name)) exported.push([name, value as z.core.$ZodType]);
  }
}

describe('every part of a request has a limit that is checked first:', () => {
  test.each(exported)('%s', (name, schema) => {
    expect(unlimitedParts(schema, name)).toEqual([]);
  });

  test('routes use no other schemas', () => {
    const names = new Set(exported.map(([name]) => name));
    const used = [...new Bun.Glob('routes/*.ts').scanSync(folder)]
      .filter(file => !file.endsWith('.test.ts') && !file.includes('fake-'))
      .flatMap(file => [
        ...readFileSync(join(folder, file), 'utf8').matchAll(/\bbody: \{ schema: (\w+)|^ +query: (\w+),$/gm),
      ])
      .map(([, body, query]) => body ?? query!);
    expect(used.length).toBeGreaterThan(30);
    expect(used.filter(name => !names.has(name))).toEqual([]);
  });

  test.each([
    ['a string', z.string()],
    ['a pattern', z.string().regex(/^a*$/)],
    ['a limit behind a pattern', z.string().regex(/^a*$/).max(10, { abort: true })],
    ['a limit that does not end it', z.string().max(10).regex(/^a*$/)],
    ['a limit that is too high', upTo(1_000_000)],
    ['a time', z.iso.datetime()],
    ['a list', z.array(upTo(10))],
    ['a list of long strings', z.array(z.string()).max(10)],
    ['anything', z.unknown()],
    ['a record', z.record(z.string(), z.int())],
    ['a part of an object', z.strictObject({ a: z.strictObject({ b: z.string().optional() }).nullable() })],
    ['a choice', z.union([z.int(), z.string()])],
  ])('the check finds a missing limit: %s', (_what, schema) => {
    expect(unlimitedParts(schema, 'it')).toHaveLength(1);
  });
});

describe('past its limit', () => {
  const looksInside = (value: string): boolean => {
    throw new Error(`looked at ${value.length} characters`);
  };

  test('a string is rejected before anything looks at it', () => {
    const schema = upTo(10).regex(/^a*$/).refine(looksInside);
    expect(schema.safeParse('a'.repeat(11)).error?.issues).toMatchObject([
      { message: 'must have at most 10 characters' },
    ]);
    expect(text(2, 10).safeParse(`${'a'.repeat(11)}\ud800`).error?.issues).toHaveLength(1);
    expect(moment.safeParse('1'.repeat(100)).error?.issues).toHaveLength(1);
  });

  test('a list is rejected before any of its items is checked', () => {
    let seen = 0;
    const item = upTo(10).refine(() => {
      seen += 1;
      return true;
    });
    const result = z.array(item).max(3).safeParse(new Array(100_000).fill('a'));
    expect(result.error?.issues).toMatchObject([{ code: 'too_big', maximum: 3 }]);
    expect(seen).toBe(0);
  });
});

describe('as a time', () => {
  test.each([
    ['2027-01-01', '2027-01-01T00:00:00.000Z'],
    ['2027-01-01T00:00Z', '2027-01-01T00:00:00.000Z'],
    ['2027-01-01T12:34:56Z', '2027-01-01T12:34:56.000Z'],
    ['2027-01-01t12:34:56z', '2027-01-01T12:34:56.000Z'],
    ['2027-01-01 12:34:56Z', '2027-01-01T12:34:56.000Z'],
    ['2027-01-01T12:34:56.7Z', '2027-01-01T12:34:56.700Z'],
    ['2027-01-01T12:34:56,123456789Z', '2027-01-01T12:34:56.123Z'],
    ['2027-01-01T02:00+02:00', '2027-01-01T00:00:00.000Z'],
    ['2027-01-01T02:00:00+0200', '2027-01-01T00:00:00.000Z'],
    ['2027-01-01T02:00+02', '2027-01-01T00:00:00.000Z'],
    ['2026-12-31T19:30:00.5-05:30', '2027-01-01T01:00:00.500Z'],
    ['2026-12-31T24:00Z', '2027-01-01T00:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, time) => {
    expect(new Date(parseIsoTime(text)!).toISOString()).toBe(time);
  });

  test.each([
    '',
    '2027',
    '2027-01',
    '2027-1-1',
    '2027-02-29',
    '2027-13-01',
    '2027-00-10',
    '2027-01-00',
    '2027-01-01T00:00',
    '2027-01-01T25:00Z',
    '2027-01-01T24:01Z',
    '2027-01-01T00:60Z',
    '2027-01-01T00:00:60Z',
    '2027-01-01T00:00:00.Z',
    '2027-01-01T00Z',
    '2027-01-01Z',
    '2027-01-01T00:00+24:00',
    '2027-01-01T00:00+02:60',
    '+002027-01-01T00:00Z',
    ' 2027-01-01',
    '2027-01-01\n',
    'tomorrow',
    `2027-01-01T00:00:00.${'0'.repeat(100_000)}Z`,
  ])('%s is not a time', text => {
    expect(parseIsoTime(text)).toBeUndefined();
  });

  test('every time that the platform writes is parsed back', () => {
    const years = { min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true };
    fc.assert(
      fc.property(fc.date(years), date => {
        expect(parseIsoTime(date.toISOString())).toBe(date.getTime());
      }),
    );
  });
});
