import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ArchiveDamaged } from '../archive.ts';
import { packMessages, unpackMessages } from './kafka-archived.ts';

const messages = fc.array(
  fc.record({
    offset: fc.maxSafeNat(),
    at: fc.maxSafeNat(),
    value: fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes)),
  }),
);

test('messages come back as they were, to the byte', () => {
  fc.assert(
    fc.property(messages, given => {
      expect(unpackMessages(packMessages(given))).toEqual(given);
    }),
  );
});

test('messages that are cut off within one are rejected, wherever that is', () => {
  const packed = packMessages([{ offset: 7, at: 8, value: Buffer.from('a message') }]);
  for (let bytes = 1; bytes < packed.length; bytes += 1) {
    expect(() => unpackMessages(packed.subarray(0, bytes))).toThrow(ArchiveDamaged);
  }
});
