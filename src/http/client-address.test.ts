import { describe, expect, test } from 'bun:test';
import { createClientAddress } from './client-address.ts';

const forwarded = (value?: string): Headers =>
  new Headers(value === undefined ? {} : { 'X-Forwarded-For': value });

describe('client address', () => {
  test('without trusted proxies nobody is believed', () => {
    expect(createClientAddress([])('203.0.113.9', forwarded('198.51.100.1'))).toBe('203.0.113.9');
  });

  test.each<[string, string, string | undefined, string]>([
    ['a stranger is not believed', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['a trusted proxy is', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['what the visitor wrote before it is not', '10.0.0.1', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['a chain of trusted proxies is followed', '10.0.0.1', '198.51.100.1, 10.0.0.7', '198.51.100.1'],
    ['all of them trusted: the first one', '10.0.0.1', '10.0.0.8, 10.0.0.7', '10.0.0.8'],
    ['no header', '10.0.0.1', undefined, '10.0.0.1'],
    ['garbage ends the chain', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    ['IPv6', 'fd00::1', '2001:db8::7', '2001:db8::7'],
    ['an IPv4 range says nothing of IPv6', '2001:db8::1', '198.51.100.1', '2001:db8::1'],
  ])('%s', (_name, peer, header, expected) => {
    const clientAddress = createClientAddress(['10.0.0.0/8', 'fd00::/8']);
    expect(clientAddress(peer, forwarded(header))).toBe(expected);
  });
});
