import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { readListUpdates, readMatches } from './client-v4.ts';
import { readFoundHashes, readHashLists } from './client-v5.ts';
import { SafeBrowsingFault } from './fault.ts';
import { durationMsOf, fieldsOf, MessageWriter, numberOf, numbersOf, textOf } from './protobuf.ts';

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'));
const [numberField] = [...fieldsOf(hex('089601'))];

describe('a protobuf message', () => {
  test('is read field by field, and fields of fixed width are passed over', () => {
    const message = hex(
      '089601' + '120774657374696e67' + '190102030405060708' + '2501020304' + '3a0403ac0207',
    );
    const fields = [...fieldsOf(message)];
    expect(fields.map(({ number, kind }) => [number, kind])).toEqual([
      [1, 'varint'],
      [2, 'bytes'],
      [3, 'fixed'],
      [4, 'fixed'],
      [7, 'bytes'],
    ]);
    expect(numberOf(numberField!)).toBe(150);
    expect(textOf(fields[1]!)).toBe('testing');
    expect(numbersOf(fields[4]!)).toEqual([3, 300, 7]);
  });

  test.each([
    ['08ffffffff0f', 0xffff_ffff],
    ['08ffffffffffffffffff01', -1],
    ['0880808080802d', 45 * 2 ** 35],
  ])('of %s holds the number %d', (message, expected) => {
    expect([...fieldsOf(hex(message))].map(numberOf)).toEqual([expected]);
  });

  test('has durations, of which a negative one is none', () => {
    const duration = (inner: string): number => {
      const message = new MessageWriter().bytes(1, hex(inner)).finish();
      return durationMsOf([...fieldsOf(message)][0]!);
    };
    expect(duration('08ac02')).toBe(300_000);
    expect(duration('080110c0c4875e')).toBeCloseTo(1_197.255744, 6);
    expect(duration('08ffffffffffffffffff01')).toBe(0);
  });

  test('comes back as it was written', () => {
    const number = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        number,
        fc.string({ minLength: 1 }),
        (field, value, text) => {
          const message = new MessageWriter()
            .number(field, value)
            .text(field, text)
            .message(2, () => undefined);
          const [first, second, third] = [...fieldsOf(message.finish())];
          expect(numberOf(first!)).toBe(value);
          expect(textOf(second!)).toBe(new TextDecoder().decode(new TextEncoder().encode(text)));
          expect(third).toEqual({ number: 2, kind: 'bytes', bytes: new Uint8Array() });
        },
      ),
    );
  });

  test.each([
    ['a number cut short', '08ff'],
    ['a number too long', '08ffffffffffffffffffff01'],
    ['a field cut short', '1205aabb'],
    ['a length below zero', '12ffffffffffffffffff01'],
    ['a fixed field cut short', '250102'],
    ['a field number of zero', '0001'],
    ['a group', '0b'],
  ])('is refused for %s', (_fault, message) => {
    expect(() => [...fieldsOf(hex(message))]).toThrow(SafeBrowsingFault);
  });
});

describe('an answer of arbitrary bytes', () => {
  const readers = [readHashLists, readFoundHashes, readListUpdates, readMatches];
  /** Bytes that often make sense: nested messages of the field numbers in use. */
  const plausible = fc.letrec(tie => ({
    message: fc
      .array(
        fc.oneof(
          fc.tuple(
            fc.integer({ min: 1, max: 11 }),
            fc.oneof({ depthSize: 'small' }, fc.uint8Array(), tie('message')),
          ),
          fc.tuple(fc.integer({ min: 1, max: 11 }), fc.nat({ max: 40 })),
        ),
        { maxLength: 6 },
      )
      .map(parts => {
        const writer = new MessageWriter();
        for (const [field, value] of parts) {
          if (typeof value === 'number') writer.number(field, value);
          else writer.bytes(field, value as Uint8Array);
        }
        return writer.finish();
      }),
  })).message;

  test.each(readers.map(reader => [reader.name, reader] as const))(
    'makes %s refuse or answer, never fail',
    async (_name, read) => {
      const bytes = fc.oneof(fc.uint8Array({ maxLength: 64 }), plausible);
      await fc.assert(
        fc.asyncProperty(bytes, async message => {
          try {
            await read(message as Uint8Array);
          } catch (error) {
            expect(error).toBeInstanceOf(SafeBrowsingFault);
          }
        }),
        { numRuns: 2_000 },
      );
    },
  );
});
