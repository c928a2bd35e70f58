/**
 * For assertions that load never excuses: a link that is lost or leads elsewhere, a code issued twice, a click lost or
 * counted twice. A fault scenario that fails here has failed, even if a repeat passes.
 */
import { expect, type Matchers } from 'bun:test';
import { violation } from '../../scripts/test-report.ts';

export const expectSafe = <Actual>(actual: Actual, note = ''): Matchers<Actual> =>
  expect(actual, `${violation} ${note}`.trim());

/** For the status of an answer: a busy machine may excuse a 503. */
export function expectSafeStatus(status: number): Matchers<number> {
  expect(status).not.toBe(503);
  return expectSafe(status);
}
