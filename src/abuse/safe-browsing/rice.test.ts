import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { encodeRice } from '../../../test/kit/rice-encoder.ts';
import { SafeBrowsingFault } from './fault.ts';
import { decodeRice } from './rice.ts';

const numbersMax = 1_000_000;
const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'));
const faultOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no fault',
    error => error,
  );

/** Differences as the servers encode them: parameter, bytes, differences. */
const vectors: readonly (readonly [riceParameter: number, bytes: string, deltas: readonly number[]])[] = [
  [2, 'f702', [15, 9]],
  [5, '00', [0]],
  [10, '', []],
  [
    28,
    '54607be70a5fc1dcee69defe583ca3d6a5f2108c4a595600',
    [62763050, 1046523781, 192522171, 1800511020, 4442775, 582142548],
  ],
  [
    27,
    '8998d875bc4491eb390c3e309a78f36ad4d9b19ffb703e443ea3086742c22b46698e3cebd9105a439a32a52d4e770f877820b6ab7198480c9e9ed7230c13432ca901',
    [
      225846818, 328287420, 166748623, 29117720, 552397365, 350353215, 558267528, 4738273, 567093445,
      28563065, 55077698, 73091685, 339246010, 98242620, 38060941, 63917830, 206319759, 137700744,
    ],
  ],
];

describe('Rice–Golomb data', () => {
  test.each(vectors)(
    'with parameter %d in %s is read as servers write it',
    async (riceParameter, bytes, deltas) => {
      let sum = 0;
      const expected = [0, ...deltas.map(delta => (sum += delta))];
      const data = { firstValue: 0, riceParameter, entriesCount: deltas.length, encodedData: hex(bytes) };
      expect([...(await decodeRice(data, numbersMax))]).toEqual(expected);
    },
  );

  test('of the documentation of version 5 holds the prefixes of its three hosts', async () => {
    const data = {
      firstValue: 489866504,
      riceParameter: 30,
      entriesCount: 2,
      encodedData: hex('7400d2971bed497400'),
    };
    expect([...(await decodeRice(data, numbersMax))]).toEqual([0x1d32c508, 0x291bc542, 0xf7a502e5]);
  });

  test('decodes what was encoded, whatever the parameter', async () => {
    const numbers = fc.uniqueArray(fc.nat({ max: 0xffff_ffff }), { minLength: 1, maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(numbers, fc.integer({ min: 20, max: 30 }), async (unsorted, riceParameter) => {
        const ascending = unsorted.sort((left, right) => left - right);
        expect([...(await decodeRice(encodeRice(ascending, riceParameter), numbersMax))]).toEqual(ascending);
      }),
    );
  });

  test.each([
    ['a count that the data cannot hold', { entriesCount: 0x7fff_ffff }],
    ['more numbers than a list may have', { entriesCount: numbersMax }],
    ['a negative count', { entriesCount: -1 }],
    ['a parameter of none', { riceParameter: 0 }],
    ['a parameter too large', { riceParameter: 31 }],
    ['a first number beyond 32 bits', { firstValue: 2 ** 32 }],
    ['a sum beyond 32 bits', { firstValue: 2 ** 32 - 1 }],
    ['a quotient without an end', { encodedData: new Uint8Array(4).fill(0xff) }],
    ['low bits that are cut short', { encodedData: Uint8Array.of(0xff, 0xff, 0x7f, 0) }],
  ])('is refused for %s', async (_fault, change) => {
    const sound = {
      ...encodeRice([5, 9, 30], 2),
      riceParameter: 10,
      encodedData: new Uint8Array(4).fill(0x0f),
    };
    expect(await decodeRice(sound, numbersMax)).toHaveLength(3);
    expect(await faultOf(decodeRice({ ...sound, ...change }, numbersMax))).toBeInstanceOf(SafeBrowsingFault);
  });
});
