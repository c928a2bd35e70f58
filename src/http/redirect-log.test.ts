import { expect, test } from 'bun:test';
import type { LogFields } from '../telemetry/log.ts';
import { createRedirectLog } from './observing.ts';

function logged(oneIn: number, redirects: number): LogFields[] {
  const lines: LogFields[] = [];
  const logRedirect = createRedirectLog({ info: (_event, fields = {}) => void lines.push(fields) }, oneIn);
  for (let n = 1; n <= redirects; n += 1) logRedirect({ method: 'GET', path: `/${n}` }, 302, 0.123456);
  return lines;
}

test('one redirect in N is logged, with how long it took and how many it stands for', () => {
  expect(logged(10, 25)).toEqual([
    { method: 'GET', path: '/10', status: 302, tookMs: 0.12, oneIn: 10 },
    { method: 'GET', path: '/20', status: 302, tookMs: 0.12, oneIn: 10 },
  ]);
});

test('every redirect is logged for one in one, and none for zero', () => {
  expect(logged(1, 3)).toHaveLength(3);
  expect(logged(0, 3)).toEqual([]);
});
