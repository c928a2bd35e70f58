import { describe, expect, test } from 'bun:test';
import { type JsonSchema, schemasIn } from './json-schema.ts';

const document = {
  components: {
    schemas: {
      Name: { type: 'string', minLength: 1, maxLength: 3 },
      Tree: {
        type: 'object',
        properties: { children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } } },
        additionalProperties: false,
      },
      'odd/name': { const: 7 },
    },
  },
};
const { compile, resolve } = schemasIn(document);

/** A schema, values that fit it, values that do not. */
const table: [string, JsonSchema, unknown[], unknown[]][] = [
  ['everything', true, [1, null, {}], []],
  ['nothing', false, [], [1, null, {}]],
  ['no keyword', {}, [1, 'x', null, []], []],
  ['a type', { type: 'string' }, ['', 'x'], [1, null, {}, []]],
  ['several types', { type: ['string', 'null'] }, ['x', null], [1, false]],
  ['integers', { type: 'integer' }, [1, -0, 1e300], [1.5, '1', Number.POSITIVE_INFINITY, null]],
  ['numbers', { type: 'number' }, [1, 1.5], [Number.POSITIVE_INFINITY, '1', null]],
  ['objects, which lists and null are not', { type: 'object' }, [{}], [[], null, 'x']],
  ['a constant', { const: 1 }, [1], ['1', 2, true]],
  ['choices', { enum: ['a', null] }, ['a', null], ['b', undefined]],
  ['alternatives', { anyOf: [{ type: 'string' }, { minimum: 3, type: 'integer' }] }, ['x', 3], [2, null]],
  ['characters rather than UTF-16 units', { minLength: 2, maxLength: 2 }, ['😀😀', 'ab'], ['😀', 'abc']],
  ['text limits on text only', { minLength: 2, pattern: '^a' }, [1, null, 'ab'], ['a', 'bb']],
  ['patterns with Unicode', { pattern: '^.$' }, ['😀', 'a'], ['ab', '']],
  ['number limits', { minimum: 1, maximum: 3 }, [1, 3, 'x'], [0, 4, Number.POSITIVE_INFINITY]],
  ['list limits', { minItems: 1, maxItems: 2, items: { type: 'null' } }, [[null], {}], [[], [1], [1, 2, 3]]],
  [
    'fields',
    { properties: { a: { type: 'null' } }, required: ['a'], additionalProperties: false },
    [{ a: null }, 'x'],
    [{}, { a: 1 }, { a: null, b: 1 }],
  ],
  ['hidden names', { additionalProperties: false }, [{}], [JSON.parse('{"__proto__": 1}')]],
  ['inherited names', { required: ['toString'] }, [{ toString: 1 }], [{}]],
  ['schemas of further fields', { additionalProperties: { type: 'null' } }, [{ a: null }], [{ a: 1 }]],
  ['the number of fields', { minProperties: 1 }, [{ a: 1 }, []], [{}]],
  ['references', { $ref: '#/components/schemas/Name' }, ['abc'], ['abcd', 1]],
  ['escaped references', { $ref: '#/components/schemas/odd~1name' }, [7], [8]],
  ['words beside references', { $ref: '#/components/schemas/Name', maxLength: 2 }, ['ab'], ['abc', '']],
  [
    'schemas within themselves',
    { $ref: '#/components/schemas/Tree' },
    [{ children: [{ children: [] }] }],
    [{ children: [{ children: [{ leaf: 1 }] }] }],
  ],
  ['addresses', { format: 'uri' }, ['https://a.example/', 1], ['a', 'ftp://a.example/', '']],
  ['addresses from here', { format: 'uri-reference' }, ['/a#b', 'https://a.example/'], ['http://[']],
  [
    'times',
    { format: 'date-time' },
    ['2030-01-31T12:00:00Z', '2028-02-29T00:00:00.5+23:59'],
    [
      '2030-01-31',
      '2027-02-29T00:00:00Z',
      '2030-01-01T24:00:00Z',
      '2030-1-1T00:00:00Z',
      '+010000-01-01T00:00:00Z',
    ],
  ],
  ['what only describes', { description: 'x', default: 1, examples: [1], title: 'x' }, [2, 'x'], []],
];

describe('a schema can say', () => {
  test.each(table)('%s', (_, schema, fitting, unfitting) => {
    const validate = compile(schema);
    expect(fitting.map(validate)).toEqual(fitting.map(() => []));
    expect(unfitting.filter(value => validate(value).length === 0)).toEqual([]);
  });
});

test('an error names its path', () => {
  const validate = compile({ properties: { a: { items: { type: 'null' } } } });
  expect(validate({ a: [null, 1] })).toEqual(['$.a[1] is not null']);
});

describe('an unknown keyword is rejected, whether it is used or not:', () => {
  test.each<[string, JsonSchema]>([
    ['a keyword', { properties: { a: { items: { uniqueItems: true } } } }],
    ['a keyword named like a method of objects', { constructor: 1 }],
    ['a keyword in an alternative', { anyOf: [{}, { not: {} }] }],
    ['a format', { format: 'email' }],
    ['a type', { type: 'text' }],
    ['a reference into nothing', { $ref: '#/components/schemas/toString' }],
    ['a reference to elsewhere', { $ref: 'https://example.com/schema' }],
  ])('%s', (_, schema) => {
    expect(() => compile(schema)).toThrow(/not known|leads/);
  });
});

test('a reference is followed to its schema, and keywords beside it win', () => {
  expect(resolve({ $ref: '#/components/schemas/Name', maxLength: 2 })).toEqual({
    type: 'string',
    minLength: 1,
    maxLength: 2,
  });
});
