import { expect, test } from 'bun:test';
import { closestName } from './did-you-mean.ts';

const names = ['port', 'host', 'baseUrl', 'codeLength', 'codeStrategy'];

test.each([
  ['prot', 'port'],
  ['hosts', 'host'],
  ['base_url', 'baseUrl'],
  ['base-url', 'baseUrl'],
  ['CODELENGHT', 'codeLength'],
  ['codeStratgy', 'codeStrategy'],
])('a slip such as %s finds %s', (word, name) => {
  expect(closestName(word, names)).toBe(name);
});

test.each(['', 'xyzzy', 'p', 'x'.repeat(10_000)])(
  'nothing is suggested for a word that resembles no name',
  word => {
    expect(closestName(word, names)).toBeUndefined();
  },
);
