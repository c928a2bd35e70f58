import { describe, expect, test } from 'bun:test';
import { SafeBrowsingFault } from './fault.ts';
import { fourBytesOf } from './prefix-list.ts';
import { readEntrySets } from './v4-entry-sets.ts';

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'));
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Entry sets as the servers serialise them, and the prefixes they hold. */
const additions: readonly (readonly [sets: readonly string[], prefixes: readonly string[]])[] = [
  [['0802221408dfea9d4e101c1802220991280dd01f2c9d5301'], ['33341993', '5f75c709', '83bfca1d']],
  [
    ['0802222008c2ee8cc801101c18052214b0e8007275b8ba8319e39f2d4ea7f1df8b1a1202'],
    ['0f64be45', '42370319', '6650275f', '95ba6fd7', '9aab0322', 'db7cbd52'],
  ],
  [
    [
      '0802222308a08fcb6d101c18062218dda588628aad88f883e2421a66384d10bce123dd22030202',
      '08011219081512151c9e466c435e51f99f059ff356185c730351d2f2b6',
    ],
    [
      '17f15426',
      '47ba02b7',
      '573373a2',
      'a0c7b20d',
      'a19edd3e',
      'd2c60aef',
      'f1fa25a2',
      '1c9e466c435e51f99f059ff356185c730351d2f2b6',
    ],
  ],
  [
    ['080222060895cd9af70d', '0801120e0805120a38c6373d5fa66ec3a2de', '0801120c0808120830ac22c848d99593'],
    ['95a6e6de', '30ac22c848d99593', '38c6373d5f', 'a66ec3a2de'],
  ],
];

const removals: readonly (readonly [set: string, indices: readonly number[]])[] = [
  ['08022a1c08ac01101c18052213720000c0210000100400001a01006017000000', [172, 229, 364, 494, 776, 963]],
  ['08022a0308e607', [998]],
  ['08022a1808f103101c1804220fde0000c00000006805000085000000', [497, 608, 611, 784, 917]],
];

describe('entry sets of version 4', () => {
  test.each(additions)('%j hold the prefixes that the server put in', async (sets, prefixes) => {
    const { fourByte, longer } = (await readEntrySets(sets.map(hex), [])).additions;
    expect([...[...fourByte].map(fourBytesOf), ...longer].map(textOf)).toEqual([...prefixes]);
  });

  test.each(removals)('%s hold the positions that the server put in', async (set, indices) => {
    expect([...(await readEntrySets([], [hex(set)])).removals]).toEqual([...indices]);
  });

  test('are sorted when they come raw and in several parts', async () => {
    const raw = (size: string, hashes: string): Uint8Array => {
      const inner = `08${size}12${(hashes.length / 2).toString(16).padStart(2, '0')}${hashes}`;
      return hex(`080112${(inner.length / 2).toString(16).padStart(2, '0')}${inner}`);
    };
    const sets = [
      raw('04', 'ffffffff00000001'),
      raw('05', 'bb00000000'),
      raw('04', '0a0b0c0d'),
      raw('05', 'aa00000000'),
    ];
    const { fourByte, longer } = (await readEntrySets(sets, [])).additions;
    expect([...fourByte]).toEqual([1, 0x0a0b0c0d, 0xffffffff]);
    expect(longer.map(textOf)).toEqual(['aa00000000', 'bb00000000']);
    const rawIndices = hex('08011a0708090802080008ac02'.replace('1a07', '1a09'));
    expect([...(await readEntrySets([], [rawIndices])).removals]).toEqual([0, 2, 9, 300]);
  });

  test.each([
    ['hashes of three bytes', '080112070803120361616a'],
    ['hashes that do not come out even', '080112090804120561626364aa'],
  ])('are refused for %s', async (_fault, set) => {
    await expect(readEntrySets([hex(set)], [])).rejects.toBeInstanceOf(SafeBrowsingFault);
  });
});
