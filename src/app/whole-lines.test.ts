import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { wholeLines } from './whole-lines.ts';

test('text goes in whole lines, as many at a time as fit', () => {
  expect(wholeLines('aa\nbb\ncc\n', 6)).toEqual(['aa\nbb\n', 'cc\n']);
  expect(wholeLines('aa\nbb\ncc\n', 5)).toEqual(['aa\n', 'bb\n', 'cc\n']);
  expect(wholeLines('a line that is too long\nb\n', 6)).toEqual(['a line that is too long\n', 'b\n']);
  expect(wholeLines('ä\nä\n', 5)).toEqual(['ä\n', 'ä\n']);
  expect(wholeLines('')).toEqual([]);
});

test('nothing is lost or added, and no part is too long that could be shorter', () => {
  const text = fc.array(fc.string({ maxLength: 20 }).map(line => `${line.replaceAll('\n', ' ')}\n`));
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 60 }), (lines, bytesMax) => {
      const parts = wholeLines(lines.join(''), bytesMax);
      expect(parts.join('')).toBe(lines.join(''));
      for (const part of parts) {
        expect(part.endsWith('\n')).toBe(true);
        const isOneLine = part.indexOf('\n') === part.length - 1;
        expect(isOneLine || Buffer.byteLength(part) <= bytesMax).toBe(true);
      }
    }),
  );
});
