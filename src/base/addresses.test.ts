import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { addressGroup, addressGroups } from './addresses.ts';

test('an IPv4 address is a group of its own, also when written as IPv6', () => {
  expect(addressGroup('203.0.113.7')).toBe('203.0.113.7');
  expect(addressGroup('::ffff:203.0.113.7')).toBe('203.0.113.7');
  expect(addressGroup('::FFFF:cb00:7107')).toBe('203.0.113.7');
  expect(addressGroup('0:0:0:0:0:ffff:203.0.113.7')).toBe('203.0.113.7');
});

test('IPv6 addresses with the same first half are one group, in any notation', () => {
  for (const address of [
    '2001:db8:1:2::1',
    '2001:db8:1:2:ffff:ffff:ffff:ffff',
    '2001:0DB8:0001:0002::',
    '2001:db8:1:2:3::1.2.3.4',
    '2001:db8:1:2::1%eth0',
  ]) {
    expect(addressGroup(address)).toBe('2001:db8:1:2::/64');
  }
  expect(addressGroup('2001:db8:1:3::1')).toBe('2001:db8:1:3::/64');
  expect(addressGroup('::1')).toBe('0:0:0:0::/64');
});

test('an IPv6 address counts in its /64 network and in the /48 around it', () => {
  expect(addressGroups('2001:db8:1:2::1')).toEqual({ host: '2001:db8:1:2::/64', site: '2001:db8:1::/48' });
  expect(addressGroups('2001:DB8:1:ffff:5::')).toEqual({
    host: '2001:db8:1:ffff::/64',
    site: '2001:db8:1::/48',
  });
  expect(addressGroups('2001:db8:2:2::1').site).toBe('2001:db8:2::/48');
});

test('an IPv4 address has one group only', () => {
  for (const address of ['203.0.113.7', '::ffff:203.0.113.7'])
    expect(addressGroups(address)).toEqual({ host: '203.0.113.7', site: '203.0.113.7' });
});

test('text that is not an address is its own group', () => {
  for (const text of [
    '',
    ':',
    'x:y',
    '1::2::3',
    '1:2:3',
    '1:2:3:4:5:6:7:8:9',
    '12345::',
    '::1.2.3',
    '::1.2.3.999',
  ])
    expect(addressGroup(text)).toBe(text);
});

test('the second half of an IPv6 address never matters', () => {
  const group = fc.integer({ min: 0, max: 0xffff });
  const half = fc.tuple(fc.integer({ min: 1, max: 0xffff }), group, group, group);
  const written = (groups: number[]): string => groups.map(number => number.toString(16)).join(':');
  fc.assert(
    fc.property(half, half, half, (network, one, other) => {
      const [first, second] = [written([...network, ...one]), written([...network, ...other])];
      expect(addressGroup(first)).toBe(addressGroup(second));
      expect(addressGroup(new URL(`http://[${first}]/`).hostname.slice(1, -1))).toBe(addressGroup(first));
    }),
  );
});
