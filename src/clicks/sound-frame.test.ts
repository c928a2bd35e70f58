import { describe, expect, test } from 'bun:test';
import { clickCount } from './batch.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { type FramePayload, forgedFrame, openedFrame } from './fake-frames.ts';
import { encodeFrame } from './frame.ts';
import { soundFrame } from './sound-frame.ts';

const dayMs = 24 * 60 * 60_000;
const sound = sampleBatch(1, [{ at: samplesStart }, { at: samplesStart + 1, code: 'other' }]);
const encoded = Buffer.from(encodeFrame('p/1', sound));
const wide = Buffer.from(
  encodeFrame('p/1', { ...sound, at: Float64Array.of(samplesStart, samplesStart + 100 * dayMs) }),
);

/** As ours but for its head. */
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
    for (const frame of [encoded, wide, withHead({})]) expect(clickCount(soundFrame(frame)!.batch)).toBe(2);
    expect(soundFrame(wide)!.batch.at[1]).toBe(samplesStart + 100 * dayMs);
  });

  test('of a later version is taken without what only that version knows', () => {
    const signals = Buffer.of(250, 1).toString('base64');
    expect([...soundFrame(withHead({ signals }))!.batch.signal]).toEqual([0, 1]);
    const kinds = soundFrame(withColumns(columns => columns.fill(250, kindsAt, kindsAt + 1)))!.batch.kind;
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
    expect(soundFrame(bytes)).toBeUndefined();
  });
});
