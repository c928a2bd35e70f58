import { describe, expect, test } from 'bun:test';
import { createClientAddress, createVisitors } from './client-address.ts';
import { Fields } from './wire/fields.ts';
import { WireRequest } from './wire/wire-request.ts';

const forwarded = (value?: string): Headers =>
  new Headers(value === undefined ? {} : { 'X-Forwarded-For': value });

describe('client address', () => {
  test('without trusted proxies, forwarding headers are ignored', () => {
    expect(createClientAddress([])('203.0.113.9', forwarded('198.51.100.1'))).toBe('203.0.113.9');
  });

  test.each<[string, string, string | undefined, string]>([
    ['an untrusted peer is ignored', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['a trusted proxy is', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['what the visitor wrote before it is not', '10.0.0.1', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['a chain of trusted proxies is followed', '10.0.0.1', '198.51.100.1, 10.0.0.7', '198.51.100.1'],
    ['all of them trusted: the first one', '10.0.0.1', '10.0.0.8, 10.0.0.7', '10.0.0.8'],
    ['no header', '10.0.0.1', undefined, '10.0.0.1'],
    ['garbage ends the chain', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    ['IPv6', 'fd00::1', '2001:db8::7', '2001:db8::7'],
    ['an address with a port', '10.0.0.1', '198.51.100.1:5678', '198.51.100.1'],
    ['IPv6 with a port', '10.0.0.1', '[2001:db8::7]:443', '2001:db8::7'],
    ['IPv6 with a port, in quotes', '10.0.0.1', '"[2001:db8::7]:443"', '2001:db8::7'],
    ['IPv6 in brackets', '10.0.0.1', '[2001:DB8::7]', '2001:DB8::7'],
    ['in quotes', '10.0.0.1', '"198.51.100.1"', '198.51.100.1'],
    ['IPv4 within IPv6, with a port', '10.0.0.1', '[::ffff:198.51.100.1]:80', '::ffff:198.51.100.1'],
    ['trusted proxies with ports', '10.0.0.1', '198.51.100.1:1, 10.0.0.7:2,[fd00::2]:3', '198.51.100.1'],
    ['an IPv4 range says nothing of IPv6', '2001:db8::1', '198.51.100.1', '2001:db8::1'],
  ])('%s', (_name, peer, header, expected) => {
    const clientAddress = createClientAddress(['10.0.0.0/8', 'fd00::/8']);
    expect(clientAddress(peer, forwarded(header))).toBe(expected);
  });

  test.each([
    '198.51.100.1:',
    '198.51.100.1:x',
    '198.51.100.1:123456',
    '198.51.100.1:80:80',
    '198.51.100:80',
    '256.1.1.1:80',
    '[198.51.100.1]:80',
    '[2001:db8::7',
    '[2001:db8::7]443',
    '[2001:db8::7]:',
    '[]:80',
    '[::1%eth0]:80',
    '"198.51.100.1',
    '""',
    ':80',
    'unknown:80',
    `[${':'.repeat(100_000)}]:80`,
    `${'1.'.repeat(100_000)}:80`,
  ])('%.30s ends the chain', hop => {
    const clientAddress = createClientAddress(['10.0.0.0/8']);
    expect(clientAddress('10.0.0.1', forwarded(`198.51.100.9, ${hop}, 10.0.0.7`))).toBe('10.0.0.7');
  });
});

describe('the visitor of a link', () => {
  const line = { method: 'GET', path: '/abc', query: '', isOldVersion: false };
  const visitorOf = createVisitors(peer => peer);
  const requestWith = (headers: Fields) => new WireRequest(line, headers, { address: '192.0.2.1' });

  test('is what the headers say', () => {
    const headers = new Fields(
      ['user-agent', 'referer', 'accept-language', 'purpose'],
      ['agent', 'https://example.com/', 'de-DE,de;q=0.9', 'prefetch'],
    );
    const request = requestWith(headers);
    expect(visitorOf(request)).toMatchObject({
      address: '192.0.2.1',
      agent: 'agent',
      referrer: 'https://example.com/',
      language: 'de-DE,de;q=0.9',
      flags: 2,
    });
    expect(visitorOf(requestWith(headers))).toBe(visitorOf(request));
  });

  test('is a separate one for each connection, even with the same headers', () => {
    const headers = new Fields(['user-agent', 'purpose'], ['agent', 'prefetch']);
    const visitors = ['192.0.2.1', '192.0.2.2'].map(address =>
      visitorOf(new WireRequest(line, headers.again(), { address })),
    );
    expect(visitors).toMatchObject([
      { address: '192.0.2.1', agent: 'agent', flags: 2 },
      { address: '192.0.2.2', agent: 'agent', flags: 2 },
    ]);
  });

  test('has empty strings for missing headers', () => {
    expect(visitorOf(requestWith(new Fields([], [])))).toMatchObject({
      agent: '',
      referrer: '',
      language: '',
      flags: 0,
    });
  });
});
