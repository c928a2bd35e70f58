import { describe, expect, test } from 'bun:test';
import { type ClickBatch, clickCount } from './batch.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { encodeFrame } from './frame.ts';
import { soundFrame } from './sound-frame.ts';

const sound = sampleBatch(1, [{ at: samplesStart }, { at: samplesStart + 1, code: 'other' }]);
const encoded = (changes: Partial<ClickBatch> = {}, producer = 'p/1') =>
  Buffer.from(encodeFrame(producer, { ...sound, ...changes }));

describe('a frame from outside', () => {
  test('is taken when it is one of ours', () => {
    expect(clickCount(soundFrame(encoded())!.batch)).toBe(2);
  });

  test('of a later version is taken without what only that version knows', () => {
    const { batch } = soundFrame(encoded({ signal: Uint8Array.of(250, 1) }))!;
    expect([...batch.signal]).toEqual([0, 1]);
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('hello, I am not a frame')],
    ['half a frame', encoded().subarray(0, 60)],
    ['a frame and more', Buffer.concat([encoded(), Buffer.from('x')])],
    ['a frame without a producer', encoded({}, '')],
    ['clicks that point beyond the links', encoded({ link: Uint32Array.of(0, 2) })],
    ['clicks that point beyond the agents', encoded({ agents: [] })],
    ['a column that is too short', encoded({ place: Uint32Array.of(0) })],
    ['a number that is none', encoded({ firstSequence: 0.5 })],
    ['a time before all clicks', encoded({ at: Float64Array.of(-5, -4) })],
    ['a time that is none', encoded({ at: Float64Array.of(Number.NaN, samplesStart) })],
    ['a link without a code', encoded({ links: [{} as never, {} as never] })],
  ])('is none when it is %s', (_, bytes) => {
    expect(soundFrame(bytes)).toBeUndefined();
  });
});
