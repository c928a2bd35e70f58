import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { seededRandom, systemRandom } from '../../base/random.ts';
import { base62Alphabet } from '../base62.ts';
import { describeGenerator } from '../generator.conformance.ts';
import { sameCodeAttempts } from '../generator.ts';
import { createHashGenerator, remainderBase62 } from './hash.ts';

const secret = new Uint8Array(32).fill(3);

describeGenerator('hash', {
  length: 7,
  leased: { no: 'the code of a URL may be taken by another URL or an alias' },
  distinctAcrossProcesses: {
    no: 'processes agree on the code of a URL, which is the point of this strategy',
  },
  createInstallation: () => ({
    start: (isAllowed = () => true) =>
      createHashGenerator({ length: 7, secret, random: seededRandom(5), isAllowed, seenMax: 1_000 }),
  }),
});

describe('hash', () => {
  const generator = createHashGenerator({ length: 7, secret, random: systemRandom });
  const longUrl = 'https://example.com/a';

  async function codeOf(
    url: string,
    ownerId: string | null,
    attempt: number,
    from = generator,
  ): Promise<string> {
    return (await from.mint({ longUrl: url, ownerId, attempt })).code;
  }

  test('gives the same URL the same code, for every owner and in every process', async () => {
    const elsewhere = createHashGenerator({ length: 7, secret, random: systemRandom });
    const code = await codeOf(longUrl, 'ann', 0);
    expect(await codeOf(longUrl, 'bob', 0)).toBe(code);
    expect(await codeOf(longUrl, null, 0, elsewhere)).toBe(code);
    expect(await codeOf('https://example.com/b', 'ann', 0)).not.toBe(code);
  });

  test('parts two owners of one URL from the second attempt on, repeatably', async () => {
    const ann = await codeOf(longUrl, 'ann', 1);
    expect(await codeOf(longUrl, 'ann', 1)).toBe(ann);
    expect(await codeOf(longUrl, 'bob', 1)).not.toBe(ann);
    expect(await codeOf(longUrl, 'ann', 2)).not.toBe(ann);
  });

  test('gives ever new codes once the repeatable ones were taken', async () => {
    const last = await codeOf(longUrl, 'ann', sameCodeAttempts - 1);
    expect(await codeOf(longUrl, 'ann', sameCodeAttempts - 1)).toBe(last);
    const codes = await Promise.all(
      Array.from({ length: 20 }, () => codeOf(longUrl, 'ann', sameCodeAttempts)),
    );
    expect(new Set(codes).size).toBe(20);
  });

  test('gives other codes under another secret', async () => {
    const other = createHashGenerator({
      length: 7,
      secret: new Uint8Array(32).fill(4),
      random: systemRandom,
    });
    expect(await codeOf(longUrl, null, 0, other)).not.toBe(await codeOf(longUrl, null, 0));
  });

  test('remembers the codes it was told of and denies nearly all others', () => {
    generator.issued?.add('abcDEF1');
    expect(generator.issued?.mayHave('abcDEF1')).toBe(true);
    expect(generator.issued?.mayHave('abcDEF2')).toBe(false);
  });

  test('the remainder is that of the 128-bit number, for every length', () => {
    const digests = fc.uint8Array({ minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(digests, fc.integer({ min: 1, max: 12 }), (digest, length) => {
        let expected =
          digest.reduce((value, byte) => value * 256n + BigInt(byte), 0n) % 62n ** BigInt(length);
        let code = '';
        for (let position = 0; position < length; position += 1) {
          code = base62Alphabet.charAt(Number(expected % 62n)) + code;
          expected /= 62n;
        }
        expect(remainderBase62(digest, length)).toBe(code);
      }),
    );
    expect(remainderBase62(new Uint8Array(32).fill(255), 12)).toHaveLength(12);
  });
});
