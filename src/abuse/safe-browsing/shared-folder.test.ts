import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { PrefixList, type ThreatList } from './lists.ts';
import { decodeLists, encodeLists } from './shared-folder.ts';

const server = 'https://lists.example';
const lists: ThreatList[] = [
  {
    name: 'mw-4b',
    version: Uint8Array.of(0, 255, 10, 13),
    updatedAt: 1_700_000_000_000,
    nextUpdateAt: 1_700_000_300_000.5,
    prefixes: new PrefixList(Uint32Array.of(1, 2, 0xffff_ffff)),
  },
  {
    name: 'se-4b',
    version: new Uint8Array(),
    updatedAt: 1,
    nextUpdateAt: 2,
    prefixes: new PrefixList(Uint32Array.of(7)),
  },
  { name: 'empty', version: Uint8Array.of(9), updatedAt: 3, nextUpdateAt: 4, prefixes: new PrefixList() },
];

describe('a file of lists', () => {
  test('returns what was written', async () => {
    expect(await decodeLists(server, await encodeLists(server, lists))).toEqual(lists);
    expect(await decodeLists(server, await encodeLists(server, []))).toEqual([]);
  });

  test('is rejected for another server', async () => {
    expect(await decodeLists('https://other.example', await encodeLists(server, lists))).toBeUndefined();
  });

  test('is rejected when any byte is changed, missing or added', async () => {
    const whole = await encodeLists(server, lists);
    const at = fc.nat({ max: whole.length - 1 });
    await fc.assert(
      fc.asyncProperty(at, fc.integer({ min: 1, max: 255 }), async (position, change) => {
        const harmed = Buffer.from(whole);
        harmed[position]! ^= change;
        expect(await decodeLists(server, harmed)).toBeUndefined();
        expect(await decodeLists(server, whole.subarray(0, position))).toBeUndefined();
        expect(
          await decodeLists(server, Buffer.concat([whole, whole.subarray(0, position + 1)])),
        ).toBeUndefined();
      }),
    );
  });
});
