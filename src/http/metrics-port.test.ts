/** Which peers may read metrics without a key, and which only look as if they may. */
import { describe, expect, test } from 'bun:test';
import { createMetricsAccess } from './metrics-port.ts';

const local = createMetricsAccess([]);
const networked = createMetricsAccess(['10.0.0.0/8', 'fd00::/8']);
const headersOf = (fields: Readonly<Record<string, string>> = {}) =>
  new Headers({ host: 'localhost:8080', 'user-agent': 'Prometheus', ...fields });

describe('metrics are shown', () => {
  test.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])('to %s on this machine', peer => {
    expect(local(peer, headersOf())).toBe(true);
  });

  test.each(['localhost', 'LOCALHOST:8080', '127.0.0.1:8080', '[::1]:8080'])('under the name %s', host => {
    expect(local('127.0.0.1', headersOf({ host }))).toBe(true);
  });

  test.each(['10.1.2.3', '::ffff:10.1.2.3', 'fd00::7'])(
    'to %s of a configured network, under any name',
    peer => {
      expect(networked(peer, headersOf({ host: 'terse.internal' }))).toBe(true);
    },
  );
});

describe('metrics are hidden', () => {
  test.each(['192.0.2.1', '10.1.2.3', '2001:db8::1', '::ffff:192.0.2.1', '', 'localhost'])(
    'from %p elsewhere',
    peer => {
      expect(local(peer, headersOf())).toBe(false);
    },
  );

  test.each(['192.0.2.1', '11.0.0.1', 'fe80::1'])('from %s outside of the configured networks', peer => {
    expect(networked(peer, headersOf())).toBe(false);
  });

  test.each(['sho.rt', 'evil.example:8080', 'localhost.evil.example', '127.0.0.1.evil.example', ''])(
    'from a loopback peer that asks for the host %p',
    host => {
      expect(local('127.0.0.1', headersOf({ host }))).toBe(false);
    },
  );

  test.each([
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Forwarded-Proto',
    'X-Real-IP',
    'Forwarded',
    'Via',
    'CF-Connecting-IP',
    'True-Client-IP',
    'X-Varnish',
  ])('from forwarded requests with %s, wherever the proxy runs', name => {
    const headers = headersOf({ [name]: '127.0.0.1' });
    expect(local('127.0.0.1', headers)).toBe(false);
    expect(networked('10.1.2.3', headers)).toBe(false);
  });
});
