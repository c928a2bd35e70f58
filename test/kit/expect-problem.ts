/** Checks that a rejection is a helpful problem document without internals. */
import { expect } from 'bun:test';
import { type ProblemCode, problemTable } from '../../src/base/errors.ts';
import type { Answer } from './client.ts';

export function expectProblem(answer: Answer, status: number, code: ProblemCode): void {
  const { type, title, status: stated, detail, code: statedCode } = answer.body;
  expect({ answered: answer.status, type, title, stated, code: statedCode }).toEqual({
    answered: status,
    type: `/docs#problem-${code}`,
    title: problemTable[code].title,
    stated: status,
    code,
  });
  expect(detail).toMatch(/\S/);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(JSON.stringify(answer.body)).not.toMatch(insides);
}

/** Stack frames, paths of sources, markup. */
const insides = /\n\s*at |\.[cm]?ts\b|node_modules|SQLITE|<\/?[a-z]/i;
