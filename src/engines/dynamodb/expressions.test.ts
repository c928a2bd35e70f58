import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { attributesOf, type DynamoValue, valuesOf } from './expressions.ts';

const leaf = fc.oneof(
  fc.string(),
  fc.maxSafeInteger(),
  fc.boolean(),
  fc.constant(null),
  fc.uint8Array(),
  fc.uniqueArray(fc.maxSafeInteger(), { minLength: 1 }).map(ids => new Set(ids)),
);
const { value } = fc.letrec<{ value: DynamoValue }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('value')),
    fc.dictionary(fc.string({ minLength: 1 }), tie('value'), { noNullPrototype: true }),
  ),
}));

test('whatever is written comes back as it was', () => {
  const name = fc.stringMatching(/^[a-z]{1,8}$/);
  fc.assert(
    fc.property(fc.dictionary(name, value, { noNullPrototype: true }), item => {
      expect(valuesOf<typeof item>(attributesOf(item))).toEqual(item);
    }),
  );
});

test('a part may have any name, also one that every object has', () => {
  const item = { a: Object.fromEntries([['__proto__', 1]]), toString: 'x' };
  expect(Object.entries(valuesOf<typeof item>(attributesOf(item)).a)).toEqual([['__proto__', 1]]);
});

test('what is undefined is left out, also inside', () => {
  expect(attributesOf({ a: undefined, b: { c: undefined, d: 1 } })).toEqual({ b: { M: { d: { N: '1' } } } });
});
