import { expect, test } from 'bun:test';
import { closestName } from './did-you-mean.ts';

const names = ['port', 'host', 'baseUrl', 'codeLength', 'codeStrategy'];

test.each([
  ['prot', 'port'],
  ['hosts', 'host'],
  ['base_url', 'baseUrl'],
  ['base-url', 'baseUrl'],
  ['P_O_R_T', 'port'],
  ['CODELENGHT', 'codeLength'],
  ['codeStratgy', 'codeStrategy'],
])('a slip such as %s finds %s', (word, name) => {
  expect(closestName(word, names)).toBe(name);
});

test('of several similar names the nearest is suggested', () => {
  expect(closestName('posts', ['post', 'posts', 'port'])).toBe('posts');
  expect(closestName('posts', ['port', 'posts', 'post'])).toBe('posts');
});

test.each(['', 'xyzzy', 'p', 'x'.repeat(10_000)])(
  'nothing is suggested for a word that resembles no name',
  word => {
    expect(closestName(word, names)).toBeUndefined();
  },
);
