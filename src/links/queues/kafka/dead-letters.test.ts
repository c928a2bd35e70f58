import { describe, expect, test } from 'bun:test';
import { seededRandom } from '../../../base/random.ts';
import type { DeadLetter } from '../../queue.ts';
import { letterBytesMax, letterPieces } from './dead-letters.ts';

const letterOf = (text: string, reason = 'the message is not JSON'): DeadLetter => ({
  text,
  place: 'links/0/7',
  reason,
});
const read = (message: Buffer): DeadLetter => JSON.parse(message.toString()) as DeadLetter;
const readAll = (letters: readonly DeadLetter[]): DeadLetter[] => [...letterPieces(letters)].flat().map(read);

describe('dead letters', () => {
  test('are kept as they are, in their order, when they fit', () => {
    const letters = [
      letterOf('nonsense'),
      letterOf('{"v":9}', 'the format 9 is not known'),
      letterOf('é✓\0'),
    ];
    expect(readAll(letters)).toEqual(letters);
  });

  test('that are too many for one write go in several, and none is missing', () => {
    const letters = Array.from({ length: 500 }, (_, n) => letterOf(`${n} ${'x'.repeat(2_000)}`));
    const pieces = [...letterPieces(letters)];
    for (const piece of pieces) {
      expect(piece.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(letterBytesMax);
    }
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.flat().map(read)).toEqual(letters);
  });

  test.each([
    ['bytes that are no text', Buffer.from(seededRandom(1).bytes(900_000)).toString()],
    ['control characters', '\u0001'.repeat(1_000_000)],
    ['half characters', '\ud800'.repeat(300_000)],
    ['plain text', 'x'.repeat(1_000_000)],
  ])('of %s that are too large are cut, and say how long they were', (_, text) => {
    const [piece, ...others] = [...letterPieces([letterOf(text)])];
    expect(others).toEqual([]);
    expect(piece![0]!.length).toBeLessThanOrEqual(letterBytesMax);
    const { text: kept, place, reason } = read(piece![0]!);
    expect(text.startsWith(kept)).toBe(true);
    expect(kept.length).toBeGreaterThan(letterBytesMax / 20);
    expect(place).toBe('links/0/7');
    expect(reason).toBe(
      `the message is not JSON (of ${text.length} characters only the first ${kept.length} are kept)`,
    );
  });

  test('whose reason is too large have a short one, and all of their text', () => {
    const [letter] = readAll([letterOf('{"v":9}', 'y'.repeat(1_000_000))]);
    expect(letter).toEqual(letterOf('{"v":9}', 'y'.repeat(1_000)));
  });
});
