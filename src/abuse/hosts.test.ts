import { describe, expect, test } from 'bun:test';
import { isSharedByStrangers, partsOf } from './hosts.ts';

describe('a host is split into the parts that its owners control:', () => {
  test.each([
    ['example.com', { domain: 'example.com', label: 'example', subdomain: '', suffix: 'com' }],
    ['a.b.evil.co.uk', { domain: 'evil.co.uk', label: 'evil', subdomain: 'a.b', suffix: 'co.uk' }],
    ['x.evil.github.io', { domain: 'evil.github.io', subdomain: 'x', suffix: 'github.io', isHosted: true }],
    ['www.example.com.', { host: 'www.example.com', domain: 'example.com' }],
    ['xn--e1afmkfd.xn--p1ai', { label: 'xn--e1afmkfd', suffix: 'xn--p1ai' }],
    ['localhost', { domain: 'localhost', label: '', suffix: 'localhost' }],
    ['a.unheard-of', { domain: 'a.unheard-of', label: 'a' }],
    ['co.uk', { domain: 'co.uk', label: '' }],
    ['198.51.100.7', { isAddress: true, domain: '198.51.100.7', label: '', suffix: '' }],
    ['[2001:db8::1]', { isAddress: true, domain: '[2001:db8::1]' }],
  ])('%s', (hostname, expected) => {
    expect(partsOf(hostname)).toMatchObject(expected);
  });
});

describe('a name below which other owners have theirs:', () => {
  test.each(['com', 'co.uk', 'github.io', 'xn--p1ai', 'kawasaki.jp', 'x.kawasaki.jp', 'ck', 'localhost'])(
    '%s',
    host => {
      expect(isSharedByStrangers(host)).toBe(true);
    },
  );
  test.each(['example.com', 'evil.co.uk', 'evil.github.io', 'city.kawasaki.jp', 'www.ck', 'a.se.example'])(
    'not %s',
    host => {
      expect(isSharedByStrangers(host)).toBe(false);
    },
  );
});
