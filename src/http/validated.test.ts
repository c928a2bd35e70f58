import { expect, test } from 'bun:test';
import { z } from 'zod';
import { Problem } from '../base/errors.ts';
import { validated } from './validated.ts';

const schema = z.strictObject({
  name: z.string(),
  list: z.record(z.string(), z.int()).optional(),
  kind: z.enum(['a', 'b']).optional(),
  nested: z.strictObject({ kind: z.enum(['a', 'b']) }).optional(),
  count: z.int().min(1).optional(),
  tags: z.array(z.string()).min(1).max(2).optional(),
});

function problemOf(value: unknown): Problem {
  try {
    validated(schema, value, 'invalid_request');
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('accepted');
}

test('a value that matches is returned', () => {
  expect(validated(schema, { name: 'x' }, 'invalid_request')).toEqual({ name: 'x' });
});

test('a rejection names the field and the reason', () => {
  const { detail, fields } = problemOf({ name: 1 });
  expect(detail).toBe('“name” must be a string.');
  expect(fields).toMatchObject({ field: 'name', errors: [{ field: 'name', message: 'must be a string' }] });
});

test.each<[unknown, string]>([
  [{}, '“name” is required.'],
  [[], 'The request must be an object.'],
  [{ name: 'x', list: { a: 1.5 } }, '“list.a” must be a whole number.'],
  [{ name: 'x', kind: 'c' }, '“kind” must be one of a, b.'],
  [{ name: 'x', nested: {} }, '“nested.kind” is required.'],
  [{ name: 'x', count: 0 }, '“count” must be at least 1.'],
  [{ name: 'x', tags: [] }, '“tags” must not be empty.'],
  [{ name: 'x', tags: ['a', 'b', 'c'] }, '“tags” must have at most 2 items.'],
])('says what is wrong in words: %j', (value, expected) => {
  expect(problemOf(value).detail).toBe(expected);
});

test('a misspelled field replaces the error about the one it stands for', () => {
  const { detail, fields } = problemOf({ nmae: 'x' });
  expect(detail).toBe('“nmae” is not a known field; did you mean “name”?');
  expect(fields).toMatchObject({ field: 'nmae', errors: [{ field: 'nmae' }] });
  expect(fields.errors).toHaveLength(1);
});

test('a rejection quotes only the beginning of what the caller sent', () => {
  const long = 'k'.repeat(1_000_000);
  const half = '😀'.repeat(1_000);
  for (const value of [
    { name: 'x', [long]: 1 },
    { name: 'x', list: { [long]: 'y' } },
    { name: 'x', [half]: 1 },
  ]) {
    const { detail, fields } = problemOf(value);
    expect(detail.length).toBeLessThan(500);
    expect(JSON.stringify(fields).length).toBeLessThan(500);
    expect(detail).toContain('…');
    expect(detail.isWellFormed()).toBe(true);
  }
});
