import { expect, test } from 'bun:test';
import { loadConfig, requireSupported } from './config.ts';

const start = (env: Record<string, string>) => () =>
  requireSupported(loadConfig({ argv: [], env, readFile: () => '{}' }));
const certificate = { TERSE_TLS_CERTIFICATE: '/etc/c.pem' };
const key = { TERSE_TLS_KEY: '/etc/k.pem' };
const introductions = { TERSE_PROXY_PROTOCOL: 'on' };
const proxies = { TERSE_TRUSTED_PROXIES: '10.0.0.0/8' };

test('a certificate and its key are named together', () => {
  expect(start({ ...certificate, ...key })).not.toThrow();
  expect(start(certificate)).toThrow('TERSE_TLS_CERTIFICATE=/etc/c.pem needs TERSE_TLS_KEY too');
  expect(start(key)).toThrow('TERSE_TLS_KEY=/etc/k.pem needs TERSE_TLS_CERTIFICATE too');
});

test('nobody introduces clients unless somebody is trusted to', () => {
  expect(start({ ...introductions, ...proxies })).not.toThrow();
  expect(start(introductions)).toThrow('TERSE_PROXY_PROTOCOL=on needs TERSE_TRUSTED_PROXIES');
});

test('introductions and TLS of our own do not go together', () => {
  expect(start({ ...introductions, ...proxies, ...certificate, ...key })).toThrow(
    'TERSE_PROXY_PROTOCOL=on is not allowed with TERSE_TLS_CERTIFICATE',
  );
});

test('with a certificate, short links are encrypted ones unless the operator says otherwise', () => {
  const load = (env: Record<string, string>) => loadConfig({ argv: [], env, readFile: () => '{}' });
  expect(load({ ...certificate, ...key }).baseUrl).toBe('https://localhost:8080');
  expect(load({ ...certificate, ...key, TERSE_BASE_URL: 'https://sho.rt' }).baseUrl).toBe('https://sho.rt');
});
