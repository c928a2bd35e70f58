import { describe, expect, test } from 'bun:test';
import { SipHash } from './sip-hash.ts';

/** The reference vectors: key 00 01 … 0f, messages of 0 to 7 bytes 00 01 …, hashes as little-endian bytes. */
const vectors = [
  '310e0edd47db6f72',
  'fd67dc93c539f874',
  '5a4fa9d909806c0d',
  '2d7efbd796666785',
  'b7877127e09427cf',
  '8da699cd64557618',
  'cee3fe586e46c9cb',
  '37d1018bf50002ab',
];

describe('SipHash', () => {
  test.each(vectors.map((hash, length) => [length, hash] as const))(
    'agrees with the reference for a message of %d bytes',
    (length, expected) => {
      const sipHash = new SipHash(Uint8Array.from({ length: 16 }, (_, index) => index));
      const block = new DataView(new ArrayBuffer(8));
      for (let index = 0; index < length; index += 1) block.setUint8(index, index);
      block.setUint8(7, length);
      sipHash.hash(block.getInt32(4, true), block.getInt32(0, true));

      const hash = new DataView(new ArrayBuffer(8));
      hash.setInt32(0, sipHash.low, true);
      hash.setInt32(4, sipHash.high, true);
      expect(Buffer.from(hash.buffer).toString('hex')).toBe(expected);
    },
  );

  test('insists on a key of 16 bytes', () => {
    expect(() => new SipHash(new Uint8Array(15))).toThrow(RangeError);
  });
});
