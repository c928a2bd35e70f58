import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { seededRandom, systemRandom } from '../../base/random.ts';
import { base62Alphabet } from '../code-space.ts';
import { describeGenerator } from '../generator.conformance.ts';
import { sameCodeAttempts } from '../generator.ts';
import { BloomFilter, createHashGenerator, remainderBase62 } from './hash.ts';

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

  test('gives two owners of one URL different codes from the second attempt on, repeatably', async () => {
    const ann = await codeOf(longUrl, 'ann', 1);
    expect(await codeOf(longUrl, 'ann', 1)).toBe(ann);
    expect(await codeOf(longUrl, 'bob', 1)).not.toBe(ann);
    expect(await codeOf(longUrl, 'ann', 2)).not.toBe(ann);
  });

  test('keeps giving new codes once the repeatable ones are taken', async () => {
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

  test('remembers the codes it was given and denies nearly all others', () => {
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

describe('a Bloom filter', () => {
  test('never denies what was added', () => {
    const filter = new BloomFilter({ capacity: 1_000, falsePositiveRate: 0.01 });
    // Far beyond its capacity, where only the false-positive rate may suffer.
    for (let index = 0; index < 5_000; index += 1) filter.add(`code${index}`);
    for (let index = 0; index < 5_000; index += 1) expect(filter.mayHave(`code${index}`)).toBe(true);
  });

  test.each([0.1, 0.01, 0.001])('when full has its promised false-positive rate of %d', rate => {
    const filter = new BloomFilter({ capacity: 20_000, falsePositiveRate: rate });
    for (let index = 0; index < 20_000; index += 1) filter.add(`known${index}`);
    let maybe = 0;
    for (let index = 0; index < 200_000; index += 1) if (filter.mayHave(`stranger${index}`)) maybe += 1;
    expect(maybe / 200_000).toBeLessThan(rate * 1.25);
    expect(maybe / 200_000).toBeGreaterThan(rate * 0.75);
  });

  test('takes ten bits per string for a rate of one percent', () => {
    const filter = new BloomFilter({ capacity: 1_000_000, falsePositiveRate: 0.01 });
    expect(filter.bitCount / 1_000_000).toBeCloseTo(9.585, 2);
  });

  test('denies everything while empty', () => {
    expect(new BloomFilter({ capacity: 1, falsePositiveRate: 0.5 }).mayHave('code')).toBe(false);
  });

  test.each([
    [0, 0.01],
    [1e9, 0.01],
    [10, 0],
    [10, 1],
  ])('refuses capacity %d with rate %d', (capacity, falsePositiveRate) => {
    expect(() => new BloomFilter({ capacity, falsePositiveRate })).toThrow();
  });
});
