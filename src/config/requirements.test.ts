import { describe, expect, test } from 'bun:test';
import { awsKeysOfProcess, loadConfig, requireSupported } from './config.ts';
import { load } from './fake-connection-context.ts';
import { archiveRefusals, edgeRefusals, queueRefusals, regionRefusals } from './requirements.ts';
import { ConfigError, throwFirst } from './sources.ts';

const start = (env: Record<string, string>) => () =>
  requireSupported(loadConfig({ argv: [], env, readFile: () => '{}' }));
const certificate = { TERSE_TLS_CERTIFICATE: '/etc/c.pem' };
const key = { TERSE_TLS_KEY: '/etc/k.pem' };
const proxyProtocol = { TERSE_PROXY_PROTOCOL: 'on' };
const proxies = { TERSE_TRUSTED_PROXIES: '10.0.0.0/8' };

test('a certificate and its key are named together', () => {
  expect(start({ ...certificate, ...key })).not.toThrow();
  expect(start(certificate)).toThrow('TERSE_TLS_CERTIFICATE=/etc/c.pem needs TERSE_TLS_KEY too');
  expect(start(key)).toThrow('TERSE_TLS_KEY=/etc/k.pem needs TERSE_TLS_CERTIFICATE too');
});

test('the PROXY protocol needs trusted proxies', () => {
  expect(start({ ...proxyProtocol, ...proxies })).not.toThrow();
  expect(start(proxyProtocol)).toThrow('TERSE_PROXY_PROTOCOL=on needs TERSE_TRUSTED_PROXIES');
});

test('proxyProtocol and our own TLS are incompatible', () => {
  expect(start({ ...proxyProtocol, ...proxies, ...certificate, ...key })).toThrow(
    'TERSE_PROXY_PROTOCOL=on is not allowed with TERSE_TLS_CERTIFICATE',
  );
});

test('with a certificate, short links use https unless the operator says otherwise', () => {
  const load = (env: Record<string, string>) => loadConfig({ argv: [], env, readFile: () => '{}' });
  expect(load({ ...certificate, ...key }).baseUrl).toBe('https://localhost:8080');
  expect(load({ ...certificate, ...key, TERSE_BASE_URL: 'https://sho.rt' }).baseUrl).toBe('https://sho.rt');
});

const requireQueue = (...given: Parameters<typeof queueRefusals>): void =>
  throwFirst(queueRefusals(...given));

const whole = {
  TERSE_WRITES: 'queued',
  TERSE_STREAM: 'kafka://h:9092/clicks',
  TERSE_CACHE: 'redis://h:6379',
} as const;

test('queued writes start with Kafka and Redis, direct ones with anything', () => {
  expect(() => requireQueue(load({ env: whole }))).not.toThrow();
  expect(() => requireQueue(load({ env: { TERSE_EXPIRY_GRACE_DAYS: '0' } }))).not.toThrow();
  expect(() => requireQueue(load({ env: { TERSE_CODE_STRATEGY: 'random' } }))).not.toThrow();
  expect(() => requireQueue(load({ env: { TERSE_REGION: '2/2' } }))).not.toThrow();
});

test.each([
  [{ TERSE_STREAM: 'embedded' }, 'TERSE_WRITES=queued needs TERSE_STREAM=kafka://…'],
  [{ TERSE_CACHE: 'none' }, 'TERSE_WRITES=queued needs TERSE_STREAM=kafka://…'],
  [{ TERSE_CODE_STRATEGY: 'hash' }, 'TERSE_CODE_STRATEGY=hash is not allowed with queued writes'],
  [{ TERSE_EXPIRY_GRACE_DAYS: '6' }, 'TERSE_EXPIRY_GRACE_DAYS=6 is not allowed with queued writes'],
  [{ TERSE_REGION: '2/2' }, 'TERSE_REGION=2/2 is not allowed with queued writes'],
])('with %j they do not start, and one line says why', (change, line) => {
  const attempt = (): void => requireQueue(load({ env: { ...whole, ...change } }));
  expect(attempt).toThrow(ConfigError);
  expect(attempt).toThrow(line);
  try {
    attempt();
  } catch (error) {
    expect((error as Error).message).not.toContain('\n');
  }
});

describe('region requirements', () => {
  const requireRegion = (...given: Parameters<typeof regionRefusals>): void =>
    throwFirst(regionRefusals(...given));

  const whole = { TERSE_REGION: '2/3', TERSE_LINKS: 'postgres://h/terse' } as const;

  test('regions start with a store that they can share, a single one with anything', () => {
    expect(() => requireRegion(load({ env: whole }))).not.toThrow();
    expect(() => requireRegion(load({ env: { ...whole, TERSE_LINKS: 'dynamodb://t' } }))).not.toThrow();
    expect(() => requireRegion(load({ env: { TERSE_REGION: '1/1' } }))).not.toThrow();
    expect(() => requireRegion(load({ env: { TERSE_CODE_STRATEGY: 'hash' } }))).not.toThrow();
  });

  test.each([
    [{ TERSE_LINKS: 'sqlite' }, 'TERSE_REGION=2/3 needs TERSE_LINKS=postgres://…'],
    [{ TERSE_LINKS: 'memory' }, 'TERSE_REGION=2/3 needs TERSE_LINKS=postgres://…'],
    [{ TERSE_CODE_STRATEGY: 'random' }, 'TERSE_CODE_STRATEGY=random is not allowed with several regions'],
    [{ TERSE_CODE_STRATEGY: 'hash' }, 'TERSE_CODE_STRATEGY=hash is not allowed with several regions'],
  ])('with %j they do not start, and one line says why', (change, line) => {
    const attempt = (): void => requireRegion(load({ env: { ...whole, ...change } }));
    expect(attempt).toThrow(ConfigError);
    expect(attempt).toThrow(line);
  });
});

const requireArchive = (...given: Parameters<typeof archiveRefusals>): void =>
  throwFirst(archiveRefusals(...given));

const configOf = (env: Record<string, string>) => loadConfig({ argv: [], env, readFile: () => '{}' });

test('an archive needs keys to it', () => {
  const config = configOf({ TERSE_ARCHIVE: 's3://terse' });
  expect(() => requireArchive(config, true)).not.toThrow();
  expect(() => requireArchive(config, false)).toThrow(
    'TERSE_ARCHIVE=s3://terse needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment',
  );
  expect(() => requireArchive(configOf({}), false)).not.toThrow();
});

test('clicks must stay in Kafka for long enough to be archived', () => {
  const withRetention = (query: string) =>
    configOf({ TERSE_ARCHIVE: 's3://terse', TERSE_STREAM: `kafka://127.0.0.1:9092/clicks${query}` });
  expect(() => requireArchive(withRetention(''), true)).not.toThrow();
  expect(() => requireArchive(withRetention('?retentionHours=72'), true)).not.toThrow();
  expect(() => requireArchive(withRetention('?retentionHours=71'), true)).toThrow(
    'use retentionHours=72 or more',
  );
});

test('keys are both or none, with a token where there is one', () => {
  const both = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };
  expect(awsKeysOfProcess(both)).toEqual({ accessKeyId: 'id', secretAccessKey: 'secret' });
  expect(awsKeysOfProcess({ ...both, AWS_SESSION_TOKEN: 'token' })?.sessionToken).toBe('token');
  expect(awsKeysOfProcess({ ...both, AWS_SECRET_ACCESS_KEY: '' })).toBeUndefined();
});

const check = (env: Record<string, string>, hasKeys = false): void =>
  throwFirst(edgeRefusals(loadConfig({ argv: [], env, readFile: () => '{}' }), hasKeys));

test('self-hosted caches need nothing else', () => {
  expect(() => check({})).not.toThrow();
  expect(() => check({ TERSE_EDGE_PURGE: 'http://varnish/,http://nginx/{code}' })).not.toThrow();
});

test('Fastly needs a token, and its token goes to no other cache', () => {
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
