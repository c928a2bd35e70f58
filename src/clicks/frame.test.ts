import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { type ClickBatch, clickCount } from './click.ts';
import { type FramePayload, forgedFrame, openedFrame } from './fake-frames.ts';
import { clickTimeMax, clickTimeMin, decodeFrame, encodeFrame, validateFrame } from './frame.ts';

/** The longest time that 32 bits of milliseconds hold, 49.7 days. */
const narrowMs = 2 ** 32 - 1;
const dayMs = 24 * 60 * 60_000;

const batchAt = (...times: number[]): ClickBatch =>
  sampleBatch(
    1,
    times.map((at, visitor) => ({ at, visitor })),
  );
const readBack = (batch: ClickBatch): ClickBatch =>
  decodeFrame(Buffer.from(encodeFrame('one', batch)), 0)!.batch;
/** What the version before wide frames requires of a frame: seven columns of words and one of bytes. */
const fitsOldReader = (frame: Uint8Array): boolean => {
  const { head, columns } = openedFrame(frame);
  return columns.length === head.count * 29;
};

describe('a frame', () => {
  test('gives back any times in any order, wherever they lie around the limit of 32 bits', () => {
    const offset = fc.oneof(
      fc.integer({ min: narrowMs - 3, max: narrowMs + 3 }),
      fc.integer({ min: 0, max: 10 }),
      fc.integer({ min: 0, max: 400 * dayMs }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: clickTimeMin, max: clickTimeMax - 400 * dayMs - 1 }),
        fc.array(offset, { minLength: 1, maxLength: 20 }),
        (start, offsets) => {
          const batch = batchAt(...offsets.map(each => start + each));
          expect(readBack(batch)).toEqual(batch);
          const isWide = Math.max(...offsets) - Math.min(...offsets) > narrowMs;
          expect(fitsOldReader(encodeFrame('one', batch))).toBe(!isWide);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('of 49.7 days is as it always was; a millisecond more makes it wide, which an older reader rejects', () => {
    const within = encodeFrame('one', batchAt(samplesStart, samplesStart + narrowMs));
    expect(openedFrame(within).head).not.toHaveProperty('offsetBytes');
    expect(fitsOldReader(within)).toBe(true);
    const beyond = encodeFrame('one', batchAt(samplesStart, samplesStart + narrowMs + 1));
    expect(openedFrame(beyond).head.offsetBytes).toBe(8);
    expect(fitsOldReader(beyond)).toBe(false);
  });

  test('that an earlier version wrote is read, and is written today as it was then', () => {
    const batch = {
      ...sampleBatch(7, [
        { at: samplesStart + 5, visitor: 3 },
        {
          at: samplesStart,
          code: 'other',
          ownerId: null,
          tags: ['a'],
          kind: 'bot' as const,
          signal: 'agent' as const,
        },
        { at: samplesStart + narrowMs, country: '', referrer: 'news.example' },
      ]),
      givenBefore: [4, 2],
    };
    const earlier = Buffer.from(earlierFrame, 'base64');
    expect(decodeFrame(earlier, 0)).toEqual({ producer: 'one', batch, bytes: earlier.length });
    expect(openedFrame(encodeFrame('one', batch))).toEqual(openedFrame(earlier));
  });

  const whole = batchAt(samplesStart, samplesStart + 1);
  test.each<[string, Partial<ClickBatch>]>([
    ['a time that is none', { at: Float64Array.of(Number.NaN, samplesStart) }],
    ['a time without end', { at: Float64Array.of(Number.POSITIVE_INFINITY, samplesStart) }],
    ['a part of a millisecond', { at: Float64Array.of(samplesStart + 0.5, samplesStart) }],
    ['a time of a clock that was never set', { at: Float64Array.of(0, samplesStart) }],
    ['a time of a later century', { at: Float64Array.of(clickTimeMax, samplesStart) }],
    ['more times than clicks', { at: Float64Array.of(samplesStart, samplesStart, samplesStart) }],
    ['a column that is too short', { visitorLow: Uint32Array.of(1) }],
    ['a column that is too long', { kind: new Uint8Array(3) }],
    ['positions that are too few', { place: Uint32Array.of(0) }],
    ['a click of no link', { link: Uint32Array.of(0, 1) }],
    ['a click of no place', { places: [] }],
    ['a signal that does not exist', { signal: Uint8Array.of(0, 250) }],
    ['a kind that does not exist', { kind: Uint8Array.of(0, 250) }],
    ['a first number of zero', { firstSequence: 0 }],
    ['numbers beyond what is exact', { firstSequence: Number.MAX_SAFE_INTEGER - 1 }],
    ['numbers by partition that are none', { givenBefore: [Number.NaN] }],
    ['a link without a code', { links: [{ ownerId: null, tags: [] } as never] }],
  ])('is never made of %s', (_, changes) => {
    expect(() => encodeFrame('one', { ...whole, ...changes })).toThrow(RangeError);
  });

  test('is never made without the name of its producer', () => {
    for (const producer of ['', 'x'.repeat(201)])
      expect(() => encodeFrame(producer, whole)).toThrow(RangeError);
  });
});

/** Made by the code before there were wide frames. */
const earlierFrame =
  'MUtMQ20BAABbpY3vKLUv/WAxAR0LAMaWSjZwNUoHfPAMAq+CUfhDp//xQyqVdu3/ZO+tye5+2o0QyW3r9MYuBIjIEaVNAv3viHhGqNDNl+w7' +
  'ADkAOABv4s5vSb5vJHxaibD6MhwJjQdDAdLgV6hOV+n3wa/xku8L4feLfQVoiEonnL7vKM+f/S5JTuub1h4DAedTSTFyTr7PyKkndFBMUgFF' +
  'nF9jU9BsetXYlPtGWHT3qrribEqVi0USPqVc/b4B4D13vhSZHTHy+/1cZX0jrCvL4jJ9QDEdF/v5ETqLlL4/f/acPfX8Rtijs1yU86UIK99b' +
  'slZoS+f3g5eWvs9cET4E7WmcziLB6SwSCAQcKNAGJCBg0Fp72tOe1lrLsixrBdihCASdTysXKUi/kWMRJPyecuqF2BdIfSNNhe/7BobzNTMV' +
  'ACAfsGFgUXBY8eTms4MOSbnoAg8Pt/MAS3HJzxMxxKaMB9xsCPTbYwb8myoIVFyXUwVFAM4=';

const sound = sampleBatch(1, [{ at: samplesStart }, { at: samplesStart + 1, code: 'other' }]);
const encoded = Buffer.from(encodeFrame('p/1', sound));
const wide = Buffer.from(
  encodeFrame('p/1', { ...sound, at: Float64Array.of(samplesStart, samplesStart + 100 * dayMs) }),
);

/** Like ours except for its head. */
const withHead = (changes: object, frame = encoded): Buffer => {
  const { head, columns } = openedFrame(frame);
  return forgedFrame({ head: { ...head, ...changes }, columns });
};
const withColumns = (change: (columns: Buffer) => FramePayload['columns'], frame = encoded): Buffer => {
  const { head, columns } = openedFrame(frame);
  return forgedFrame({ head, columns: change(Buffer.from(columns)) });
};
/** Where the positions of links and the kinds of a narrow frame of two clicks begin. */
const [linksAt, kindsAt] = [2 * 4, 2 * 7 * 4];
const doubleAt = (value: number) => (columns: Buffer) => {
  columns.writeDoubleLE(value, 8);
  return columns;
};
const wordAt = (value: number, at: number) => (columns: Buffer) => {
  columns.writeUInt32LE(value, at);
  return columns;
};

describe('a frame from outside', () => {
  test('is taken when it is one of ours', () => {
    for (const frame of [encoded, wide, withHead({})])
      expect(clickCount(validateFrame(frame)!.batch)).toBe(2);
    expect(validateFrame(wide)!.batch.at[1]).toBe(samplesStart + 100 * dayMs);
  });

  test('of a later version is taken without what only that version knows', () => {
    const signals = Buffer.of(250, 1).toString('base64');
    expect([...validateFrame(withHead({ signals }))!.batch.signal]).toEqual([0, 1]);
    const kinds = validateFrame(withColumns(columns => columns.fill(250, kindsAt, kindsAt + 1)))!.batch.kind;
    expect([...kinds]).toEqual([1, 0]);
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('hello, I am not a frame')],
    ['half a frame', encoded.subarray(0, 60)],
    ['a frame and more', Buffer.concat([encoded, Buffer.from('x')])],
    ['a frame without a producer', withHead({ producer: '' })],
    ['clicks that point beyond the links', withColumns(wordAt(2, linksAt))],
    ['clicks that point beyond the agents', withHead({ agents: [] })],
    ['a column that is too short', withColumns(columns => columns.subarray(4))],
    ['fewer clicks than it says', withHead({ count: 3 })],
    ['a number that is none', withHead({ firstSequence: 0.5 })],
    ['a time before all clicks', withHead({ startAt: -5 })],
    ['a time that is none', withHead({ startAt: null })],
    ['a wide time that is none', withColumns(doubleAt(Number.NaN), wide)],
    ['a wide time within a millisecond', withColumns(doubleAt(0.5), wide)],
    ['a wide time without end', withColumns(doubleAt(Number.POSITIVE_INFINITY), wide)],
    ['narrow times that it calls wide', withHead({ offsetBytes: 8 })],
    ['wide times that it calls narrow', withHead({ offsetBytes: 4 }, wide)],
    ['times of a width that nobody knows', withHead({ offsetBytes: 16 })],
    ['a link without a code', withHead({ links: [{}, {}] })],
  ])('is none when it is %s', (_, bytes) => {
    expect(validateFrame(bytes)).toBeUndefined();
  });

  test('is none when it decompresses to more than any batch of ours, though it is sound otherwise', () => {
    const { head, columns } = openedFrame(encoded);
    const padded = (bytes: number): Buffer => {
      const text = Buffer.alloc(bytes, ' ');
      text.write(JSON.stringify(head));
      const length = Buffer.alloc(4);
      length.writeUInt32LE(bytes);
      return forgedFrame(Buffer.concat([length, text, columns]));
    };
    expect(clickCount(validateFrame(padded(1024 ** 2))!.batch)).toBe(2);
    expect(validateFrame(padded(64 * 1024 ** 2))).toBeUndefined();
  });
});
