import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Writer } from 'protobufjs/minimal';
import { readFoundHashes, readHashLists } from './client.ts';
import { SafeBrowsingFault } from './fault.ts';

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'));
/** A field of bytes, as it is in a message. */
const field = (number: number, content: Uint8Array): Uint8Array =>
  new Writer()
    .uint32(number * 8 + 2)
    .bytes(content)
    .finish();
const join = (...parts: readonly Uint8Array[]): Uint8Array => Buffer.concat(parts);

describe('an answer about lists', () => {
  test('is read field by field, and unknown ones are skipped', async () => {
    const rice = hex('08888acbe901101e1802' + '22097400d2971bed497400');
    const list = join(
      field(1, Buffer.from('se-4b')),
      field(2, hex('0aff')),
      hex('1801'),
      field(4, rice),
      field(5, hex('0803')),
      field(6, hex('08ac02')),
      field(7, hex('abcd')),
      hex('c1020102030405060708' + 'c50201020304'),
    );
    expect(await readHashLists(field(1, list))).toEqual([
      {
        name: 'se-4b',
        kind: 'partial',
        // The example of the documentation: the prefixes of its three hosts.
        additions: Uint32Array.of(0x1d32c508, 0x291bc542, 0xf7a502e5),
        removals: Uint32Array.of(3),
        version: hex('0aff'),
        checksum: hex('abcd'),
        waitMs: 300_000,
      },
    ]);
  });

  test('may leave everything out', async () => {
    const [list] = await readHashLists(field(1, new Uint8Array()));
    const empty = new Uint32Array();
    expect(list).toMatchObject({ name: '', kind: 'full', additions: empty, removals: empty, waitMs: 0 });
    expect(list!.checksum).toBeUndefined();
  });

  test.each([9, 10, 11])('is refused when it has prefixes of another length (field %d)', async number => {
    const answer = readHashLists(field(1, field(number, new Uint8Array())));
    await expect(answer).rejects.toBeInstanceOf(SafeBrowsingFault);
  });
});

describe('an answer about hashes', () => {
  const hash = new Uint8Array(32).fill(7);
  const found = (detail: string): Uint8Array => field(1, join(field(1, hash), field(2, hex(detail))));

  test.each([
    ['08ac02', 300_000],
    ['080110c0c4875e', 1_197.255744],
    ['08ffffffffffffffffff01', 0],
    ['0880808080802d', 45 * 2 ** 35 * 1_000],
  ])('is valid for the duration %s, %d ms, of which a negative one is none', (duration, expectedMs) => {
    expect(readFoundHashes(field(2, hex(duration))).cacheMs).toBeCloseTo(expectedMs, 6);
  });

  test.each([
    ['a known threat', '0801', 1],
    ['a threat that nobody knows yet', '0809', 0],
    ['a packed attribute', '0801120101', 0],
    ['a single attribute', '08011001', 0],
  ])('with %s counts %s as %d', (_what, detail, count) => {
    expect(readFoundHashes(found(detail)).found).toHaveLength(count);
  });

  test.each([
    ['a number cut short', '08ff'],
    ['a number too long', '120c08ffffffffffffffffffff01'],
    ['a field cut short', '1205aabb'],
    ['a length below zero', '12ffffffffffffffffff01'],
    ['a fixed field cut short', '250102'],
    ['a field number of zero', '0001'],
    ['a group without an end', '0b'],
    ['a hash of another length', '0a030a0107'],
  ])('is refused for %s', (_fault, message) => {
    expect(() => readFoundHashes(hex(message))).toThrow(SafeBrowsingFault);
  });
});

describe('an answer of arbitrary bytes', () => {
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
        const writer = new Writer();
        for (const [number, value] of parts) {
          if (typeof value === 'number') writer.uint32(number * 8).uint32(value);
          else writer.uint32(number * 8 + 2).bytes(value as Uint8Array);
        }
        return writer.finish();
      }),
  })).message;

  test.each([
    ['readHashLists', readHashLists],
    ['readFoundHashes', readFoundHashes],
  ] as const)('makes %s reject or answer, never crash', async (_name, read) => {
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
  });
});
