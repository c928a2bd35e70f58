import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { isPublicAddress } from './ask.ts';

describe('public', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001:82a::200e',
    '2001:4860:4860::8888',
    '64:ff9b::8.8.8.8',
    '64:ff9b::808:808',
  ])('%s', address => {
    expect(isPublicAddress(address)).toBe(true);
  });
});

describe('not public', () => {
  test.each([
    ['this network', '0.0.0.0'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['of a carrier', '100.64.0.1'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.255'],
    ['the metadata service of clouds', '169.254.169.254'],
    ['protocols', '192.0.0.8'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.7'],
    ['documentation', '203.0.113.9'],
    ['a relay of 6to4', '192.88.99.1'],
    ['benchmarks', '198.19.0.1'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['mapped loopback', '::ffff:127.0.0.1'],
    ['mapped loopback in hex', '::ffff:7f00:1'],
    ['mapped, though public: nobody resolves to it in good faith', '::ffff:8.8.8.8'],
    ['compatible', '::8.8.8.8'],
    ['loopback through NAT64', '64:ff9b::127.0.0.1'],
    ['private through NAT64', '64:ff9b::a00:1'],
    ['NAT64 of a network of its own', '64:ff9b:1::808:808'],
    ['6to4', '2002:7f00:1::'],
    ['6to4, though public', '2002:808:808::1'],
    ['Teredo', '2001:0:7f00:1::'],
    ['documentation', '2001:db8::1'],
    ['documentation', '3fff::1'],
    ['unique local', 'fd00::1'],
    ['unique local', 'fc12::1'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['discarded', '100::1'],
    ['segments', '5f00::1'],
    ['a name', 'localhost'],
    ['nothing', ''],
    ['a number', '2130706433'],
    ['octal', '0177.0.0.1'],
  ])('%s: %s', (_what, address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

test('an IPv4 address is judged the same through NAT64, however it is written', () => {
  fc.assert(
    fc.property(fc.ipV4(), address => {
      const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
      const hex = `64:ff9b::${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
      expect(isPublicAddress(`64:ff9b::${address}`)).toBe(isPublicAddress(address));
      expect(isPublicAddress(hex)).toBe(isPublicAddress(address));
    }),
  );
});

test('no IPv6 address outside of 2000::/3 and NAT64 is public', () => {
  fc.assert(
    fc.property(fc.ipV6(), address => {
      if (!isPublicAddress(address) || address.toLowerCase().startsWith('64:ff9b:')) return;
      expect(address).toMatch(/^[23]/);
    }),
  );
});
