import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { BitWriter, TokenSet, tokensMax } from './sparse.ts';
import { BrokenSketch, depthMax, needsDepth, positionBits, tokenAt } from './token.ts';

const positions = fc.oneof(
  fc.nat(2 ** positionBits - 1),
  // Where the prefix is all zero, so that a depth is noted, and at both ends.
  fc.nat(2 ** 14 - 1).map(register => register << 11),
  fc.constantFrom(0, 1, 2 ** positionBits - 1),
);
const token = fc
  .tuple(positions, fc.integer({ min: 1, max: depthMax }))
  .map(([position, depth]) => tokenAt(position, needsDepth(position) ? depth : 0));

function setOf(tokens: Iterable<number>): TokenSet {
  const set = new TokenSet();
  for (const each of tokens) set.add(each);
  return set;
}

/** Bytes of a set whose count takes 3 bits, with the rest written by hand. */
function bytesOfOne(writeToken: (writer: BitWriter) => void): Uint8Array {
  const writer = new BitWriter(256);
  writer.writeUnary(1);
  writer.write(0, 1);
  writeToken(writer);
  return writer.finish();
}

describe('a set of tokens', () => {
  test('has each token once, ascending', () => {
    fc.assert(
      fc.property(fc.array(token, { maxLength: 200 }), tokens => {
        const set = setOf([...tokens, ...tokens]);
        const expected = [...new Set(tokens)].sort((one, other) => one - other);
        expect([...set.tokens()]).toEqual(expected);
        expect(set.size).toBe(expected.length);
      }),
    );
  });

  test('comes back from its bytes, up to the most tokens', () => {
    fc.assert(
      fc.property(fc.uniqueArray(token, { maxLength: tokensMax, size: 'max' }), tokens => {
        const set = setOf(tokens);
        expect(TokenSet.from(set.toBytes()).tokens()).toEqual(set.tokens());
      }),
    );
    const most = setOf(Array.from({ length: tokensMax }, (_, index) => tokenAt(2 * index + 1, 0)));
    expect(TokenSet.from(most.toBytes()).tokens()).toEqual(most.tokens());
    const mostAtTheEnd = setOf(
      Array.from({ length: tokensMax }, (_, index) => tokenAt(2 ** positionBits - 1 - 2 * index, 0)),
    );
    expect(TokenSet.from(mostAtTheEnd.toBytes()).tokens()).toEqual(mostAtTheEnd.tokens());
  });

  test('has one encoding: bytes are refused or are what the set would write', () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), bytes => {
        try {
          expect(TokenSet.from(bytes).toBytes()).toEqual(bytes);
          accepted += 1;
        } catch (error) {
          if (!(error instanceof BrokenSketch)) throw error;
        }
      }),
      { numRuns: 20_000, examples: [[Uint8Array.of(0x80)]] },
    );
    expect(accepted).toBeGreaterThan(0);
  });

  test.each<[string, Uint8Array]>([
    ['they end too early', new Uint8Array(0)],
    ['they end too early', Uint8Array.of(0)],
    ['they end too early', bytesOfOne(writer => writer.writeUnary(0))],
    ['there are too many tokens', new Uint8Array(8).fill(1, 7)],
    [
      'there are too many tokens',
      (() => {
        const writer = new BitWriter(64);
        writer.writeUnary(10);
        // One more than the most, and one more than that because no token at all is written as one.
        writer.write(tokensMax + 2, 10);
        return writer.finish();
      })(),
    ],
    [
      'a token is out of range',
      bytesOfOne(writer => {
        writer.writeUnary(1);
        writer.write(0, positionBits);
      }),
    ],
    ...[0, depthMax + 1, 63].map((depth): [string, Uint8Array] => [
      'a depth is out of range',
      bytesOfOne(writer => {
        writer.writeUnary(0);
        writer.write(0, positionBits);
        writer.write(depth, 6);
      }),
    ]),
    [
      'tokens do not ascend',
      (() => {
        const writer = new BitWriter(256);
        writer.writeUnary(1);
        writer.write(1, 1);
        for (const gap of [5, 0]) {
          writer.writeUnary(0);
          writer.write(gap, positionBits - 1);
        }
        return writer.finish();
      })(),
    ],
    ['the last byte is not filled with zeros', Uint8Array.of(0b1000_0001)],
    ['they go on after the end', Uint8Array.of(0b1000_0000, 0)],
  ])('is refused where %s', (reason, bytes) => {
    expect(() => TokenSet.from(bytes)).toThrow(reason);
  });
});
