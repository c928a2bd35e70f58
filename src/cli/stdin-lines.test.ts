import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type InputLine, lineBatches } from './stdin-lines.ts';

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function batchesOf(bytes: Uint8Array, chunkSize: number, batchMax: number): Promise<InputLine[][]> {
  const batches: InputLine[][] = [];
  for await (const batch of lineBatches(inChunks(bytes, chunkSize), batchMax)) batches.push(batch);
  return batches;
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

test('lines come out whole and numbered, however the input is cut', async () => {
  const texts = fc.array(fc.constantFrom('https://a.b/ü', 'x', '', ' y \r', '漢字'), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(texts, fc.integer({ min: 1, max: 9 }), async (lines, chunkSize) => {
      const expected = lines.flatMap((line, index) => {
        return line.trim() === '' ? [] : [{ number: index + 1, text: line.trim() }];
      });
      const batches = await batchesOf(bytesOf(lines.join('\n')), chunkSize, 4);
      expect(batches.flat()).toEqual(expected);
      expect(batches.map(batch => batch.length).every(length => length >= 1 && length <= 4)).toBe(true);
    }),
  );
});

test('input that is not UTF-8 is refused', async () => {
  await expect(batchesOf(new Uint8Array([0x61, 0xff]), 1, 4)).rejects.toThrow('not UTF-8');
  await expect(batchesOf(new Uint8Array([0xc3]), 1, 4)).rejects.toThrow('not UTF-8');
});

test('a line without end is refused before it fills the memory', async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield bytesOf('x'.repeat(10_000));
  }
  await expect(lineBatches(endless(), 4).next()).rejects.toThrow('line 1 of the standard input is too long');
});
