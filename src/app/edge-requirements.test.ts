import { expect, test } from 'bun:test';
import { loadConfig } from './config.ts';
import { requireEdgeParts } from './edge-requirements.ts';

const check = (env: Record<string, string>, hasKeys = false): void =>
  requireEdgeParts(loadConfig({ argv: [], env, readFile: () => '{}' }), hasKeys);

test('caches of one’s own need nothing else', () => {
  expect(() => check({})).not.toThrow();
  expect(() => check({ TERSE_EDGE_PURGE: 'http://varnish/,http://nginx/{code}' })).not.toThrow();
});

test('Fastly needs a token, and its token goes to nobody else', () => {
  const env = { TERSE_EDGE_PURGE: 'fastly://SU1Z0' };
  expect(() => check(env)).toThrow(
    "TERSE_EDGE_PURGE=fastly://SU1Z0 needs TERSE_EDGE_PURGE_TOKEN, a token of Fastly's that may purge",
  );
  const token = { TERSE_EDGE_PURGE_TOKEN: 'token' };
  expect(() => check({ ...env, ...token })).not.toThrow();
  expect(() => check({ TERSE_EDGE_PURGE: 'fastly://SU1Z0,http://varnish/', ...token })).toThrow(
    "Fastly's token must not go to other caches",
  );
});

test('CloudFront needs keys in the environment', () => {
  const env = { TERSE_EDGE_PURGE: 'cloudfront://E1' };
  expect(() => check(env)).toThrow(
    'TERSE_EDGE_PURGE=cloudfront://E1 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment',
  );
  expect(() => check(env, true)).not.toThrow();
});
