import { expect, test } from 'bun:test';
import { z } from 'zod';
import { Problem } from '../base/errors.ts';
import { validated } from './validated.ts';

const schema = z.strictObject({ name: z.string(), list: z.record(z.string(), z.int()).optional() });

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
  expect(detail).toStartWith('“name”: ');
  expect(fields).toMatchObject({ errors: [{ field: 'name' }] });
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
