import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ManualClock } from '../base/clock.ts';
import { createContinueTokens, splitQuery } from './continue-token.ts';

const secret = new Uint8Array(32).fill(7);
const minuteMs = 60_000;

describe('a token to continue', () => {
  const clock = new ManualClock();
  const tokens = createContinueTokens(secret, clock);

  test('is good for its code and version, in every process with the same secret', () => {
    const token = tokens.issue('abc', 3);
    expect(tokens.accepts(token, 'abc', 3)).toBe(true);
    expect(createContinueTokens(secret, clock).accepts(token, 'abc', 3)).toBe(true);
    expect(tokens.accepts(token, 'abd', 3)).toBe(false);
    expect(tokens.accepts(token, 'abc', 4)).toBe(false);
    const others = createContinueTokens(new Uint8Array(32).fill(8), clock);
    expect(others.accepts(token, 'abc', 3)).toBe(false);
  });

  test('is good for ten minutes', () => {
    const token = tokens.issue('abc', 1);
    clock.advance(10 * minuteMs - 1_000);
    expect(tokens.accepts(token, 'abc', 1)).toBe(true);
    clock.advance(1_000);
    expect(tokens.accepts(token, 'abc', 1)).toBe(false);
  });

  test('of a clock that was set back is not good for longer', () => {
    const token = tokens.issue('abc', 1);
    clock.set(clock.now() - minuteMs);
    expect(tokens.accepts(token, 'abc', 1)).toBe(false);
    clock.set(clock.now() + minuteMs);
  });

  test('cannot be made up or changed', () => {
    const token = tokens.issue('abc', 1);
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, letter) => {
        const changed = token.slice(0, at) + letter + token.slice(at + 1);
        // The last letter of a signature carries four bits that say nothing.
        const same = changed === token || (at === token.length - 1 && /^[\w-]$/.test(letter));
        expect(same || !tokens.accepts(changed, 'abc', 1)).toBe(true);
      }),
    );
    for (const made of ['', '.', 'zzzzzz.', `${token}=`, ` ${token}`])
      expect(tokens.accepts(made, 'abc', 1)).toBe(false);
  });
});

describe('splitQuery', () => {
  test.each([
    ['', '', undefined],
    ['a=1&b=%20+', 'a=1&b=%20+', undefined],
    ['terse-continue=t', '', 't'],
    ['a=1&terse-continue=t&b=2', 'a=1&b=2', 't'],
    ['terse-continue=x&terse-continue=t', '', 't'],
    ['terse-continued=1', 'terse-continued=1', undefined],
    ['a=terse-continue=1', 'a=terse-continue=1', undefined],
  ])('%p', (given, query, token) => {
    expect(splitQuery(given)).toEqual({ query, token });
  });
});
