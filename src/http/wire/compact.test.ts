import { expect, test } from 'bun:test';
import { compact } from './compact.ts';

test('a small part of a buffer no longer keeps all of it', () => {
  const part = Buffer.from('0123456789').subarray(2, 6);
  expect(compact(part).toString()).toBe('2345');
  expect(compact(part).buffer.byteLength).toBe(4);
});

test('a large part of a buffer is not copied', () => {
  const part = Buffer.from('0123456789').subarray(5);
  expect(compact(part)).toBe(part);
});
