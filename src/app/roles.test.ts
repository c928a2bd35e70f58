import { expect, test } from 'bun:test';
import { dutiesOf } from './roles.ts';

test.each([
  [['all'], { redirects: true, api: true, background: true }],
  [['redirect'], { redirects: true, api: false, background: false }],
  [['api', 'worker'], { redirects: false, api: true, background: true }],
] as const)('the roles %j come with their duties', (roles, duties) => {
  expect(dutiesOf(roles)).toEqual(duties);
});
