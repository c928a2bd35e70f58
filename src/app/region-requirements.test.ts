import { expect, test } from 'bun:test';
import { ConfigError } from './config-sources.ts';
import { load } from './fake-surroundings.ts';
import { requireRegionParts } from './region-requirements.ts';

const whole = { TERSE_REGION: '2/3', TERSE_LINKS: 'postgres://h/terse' } as const;

test('regions start with a store that they can share, a lone one with anything', () => {
  expect(() => requireRegionParts(load({ env: whole }))).not.toThrow();
  expect(() => requireRegionParts(load({ env: { ...whole, TERSE_LINKS: 'dynamodb://t' } }))).not.toThrow();
  expect(() => requireRegionParts(load({ env: { TERSE_REGION: '1/1' } }))).not.toThrow();
  expect(() => requireRegionParts(load({ env: { TERSE_CODE_STRATEGY: 'hash' } }))).not.toThrow();
});

test.each([
  [{ TERSE_LINKS: 'sqlite' }, 'TERSE_REGION=2/3 needs TERSE_LINKS=postgres://…'],
  [{ TERSE_LINKS: 'memory' }, 'TERSE_REGION=2/3 needs TERSE_LINKS=postgres://…'],
  [{ TERSE_CODE_STRATEGY: 'random' }, 'TERSE_CODE_STRATEGY=random is not allowed with several regions'],
  [{ TERSE_CODE_STRATEGY: 'hash' }, 'TERSE_CODE_STRATEGY=hash is not allowed with several regions'],
])('with %j they do not start, and one line says why', (change, line) => {
  const attempt = (): void => requireRegionParts(load({ env: { ...whole, ...change } }));
  expect(attempt).toThrow(ConfigError);
  expect(attempt).toThrow(line);
});
