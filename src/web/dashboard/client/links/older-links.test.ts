import { expect, test } from 'bun:test';
import { wordForServer } from './older-links.ts';

test('the server, which looks for one text, is asked for the longest word', () => {
  expect(wordForServer('the spring offer ')).toBe('spring');
  expect(wordForServer(' ')).toBeUndefined();
});
