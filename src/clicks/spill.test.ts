import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { clickCount } from './click.ts';
import { encodeFrame } from './frame.ts';
import { Spill, segmentHeaderBytes } from './spill.ts';

const producer = 'one';
const clicksPerBatch = 3;
const batchOf = (firstSequence: number) =>
  sampleBatch(
    firstSequence,
    Array.from({ length: clicksPerBatch }, (_, index) => ({ at: samplesStart + index })),
  );
const frameOf = (firstSequence: number) => encodeFrame(producer, batchOf(firstSequence));
const frameBytes = frameOf(1).length;

let root: string;
let folder: string;
let problems: string[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'terse-spill-'));
  folder = join(root, 'spill');
  problems = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const open = (segmentBytesMax = 4 * frameBytes) =>
  new Spill({ folder, segmentBytesMax, onProblem: what => problems.push(what) });
const segments = () => readdirSync(folder).sort();
const pathOf = (segment: string) => join(folder, segment);
function drain(spill: Spill): number[] {
  const numbers: number[] = [];
  for (let frame = spill.peek(); frame !== undefined; frame = spill.peek()) {
    numbers.push(frame.batch.firstSequence);
    spill.shift();
  }
  return numbers;
}

describe('spill', () => {
  test('a half written position repeats batches and loses none', () => {
    const spill = open();
    for (const number of [1, 4, 7]) spill.push(frameOf(number));
    spill.shift();
    const [segment] = segments();
    const bytes = readFileSync(pathOf(segment!));
    for (const done of [0, 1, frameBytes - 1, frameBytes + 1, 2 ** 32 - 1]) {
      bytes.writeUInt32LE(done);
      writeFileSync(pathOf(segment!), bytes);
      expect(open().peek()!.batch.firstSequence).toBe(1);
    }
    bytes.writeUInt32LE(frameBytes);
    writeFileSync(pathOf(segment!), bytes);
    expect(drain(open())).toEqual([4, 7]);
    expect(problems).toEqual([]);
  });

  test('batches are read back unchanged, with their producer', () => {
    const spill = open();
    const batch = sampleBatch(7, [{ at: samplesStart, code: 'ü-_', tags: ['a'], ownerId: null }]);
    spill.push(encodeFrame('someone', batch));
    expect(open().peek()).toMatchObject({ producer: 'someone', batch });
  });

  const step = fc.oneof(
    { weight: 5, arbitrary: fc.constant('push' as const) },
    { weight: 4, arbitrary: fc.constant('shift' as const) },
    { weight: 1, arbitrary: fc.constant('dropOldest' as const) },
    { weight: 1, arbitrary: fc.constant('die' as const) },
    { weight: 1, arbitrary: fc.constant('dieWriting' as const) },
  );

  test('first in, first out, whatever is pushed, taken, dropped, and however often its process dies', () => {
    const script = fc.tuple(fc.array(step, { maxLength: 60 }), fc.integer({ min: 0, max: 6 }));
    fc.assert(
      fc.property(script, ([steps, framesPerSegment]) => {
        rmSync(folder, { recursive: true, force: true });
        const reopened = () => open(framesPerSegment * frameBytes);
        let spill = reopened();
        let expected: number[] = [];
        let sequence = 1;
        for (const action of steps) {
          if (action === 'push') {
            spill.push(frameOf(sequence));
            expected.push(sequence);
            sequence += clicksPerBatch;
          } else if (action === 'shift') {
            spill.shift();
            expected = expected.slice(1);
          } else if (action === 'dropOldest') {
            const clicks = spill.dropOldest();
            expect(clicks > 0).toBe(expected.length > 0);
            expected = expected.slice(clicks / clicksPerBatch);
          } else {
            const last = existsSync(folder) ? segments().at(-1) : undefined;
            if (action === 'dieWriting' && last !== undefined)
              appendFileSync(pathOf(last), frameOf(sequence).subarray(0, -1));
            spill = reopened();
          }
          expect(spill.peek()?.batch.firstSequence).toBe(expected[0]);
          expect(spill.isEmpty).toBe(expected.length === 0);
        }
        expect(drain(spill)).toEqual(expected);
        expect(existsSync(folder)).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  test('reports the size that it has on disk', () => {
    const spill = open();
    for (let sequence = 1; sequence < 30; sequence += clicksPerBatch) spill.push(frameOf(sequence));
    const bytes = segments().reduce((sum, segment) => sum + statSync(pathOf(segment)).size, 0);
    expect([spill.bytes, open().bytes]).toEqual([bytes, bytes]);
    drain(spill);
    expect(spill.bytes).toBe(0);
  });

  test('a segment takes no frame beyond its size', () => {
    const spill = open(2.5 * frameBytes);
    for (const sequence of [1, 4, 7, 10, 13]) spill.push(frameOf(sequence));
    const sizeOf = (...sequences: number[]) =>
      sequences.reduce((bytes, sequence) => bytes + frameOf(sequence).length, segmentHeaderBytes);
    expect(segments().map(segment => statSync(pathOf(segment)).size)).toEqual([
      sizeOf(1, 4),
      sizeOf(7, 10),
      sizeOf(13),
    ]);
  });

  test('a batch cut off at any byte is dropped, and the batches before and after it are not', () => {
    for (let cut = 1; cut <= frameOf(4).length; cut += 1) {
      const killed = open();
      for (const sequence of [1, 4]) killed.push(frameOf(sequence));
      const path = pathOf(segments()[0]!);
      truncateSync(path, statSync(path).size - cut);
      const after = open();
      after.push(frameOf(7));
      expect(drain(after)).toEqual([1, 7]);
    }
  });

  test('damage costs the rest of its segment and nothing else', () => {
    const spill = open(2.5 * frameBytes);
    for (const sequence of [1, 4, 7, 10]) spill.push(frameOf(sequence));
    const [first] = segments();
    const bytes = readFileSync(pathOf(first!));
    bytes[segmentHeaderBytes + 20]! ^= 0x41;
    writeFileSync(pathOf(first!), bytes);
    expect(drain(open())).toEqual([7, 10]);
    expect(problems).toEqual([`spilled clicks in ${pathOf(first!)} cannot be read`]);
  });

  test('a segment that disappears does not keep back the others', () => {
    const spill = open(frameBytes);
    for (const sequence of [1, 4, 7]) spill.push(frameOf(sequence));
    rmSync(pathOf(segments()[0]!));
    expect(drain(spill)).toEqual([4, 7]);
  });

  test('batches that were taken do not come again after a kill, although their segment is still there', () => {
    const killed = open(10 * frameBytes);
    for (const sequence of [1, 4, 7]) killed.push(frameOf(sequence));
    killed.shift();
    killed.shift();
    expect(segments()).toHaveLength(1);
    expect(drain(open())).toEqual([7]);
  });

  test('dropping the oldest counts what had not been taken yet', () => {
    const spill = open(10 * frameBytes);
    for (const sequence of [1, 4, 7]) spill.push(frameOf(sequence));
    spill.shift();
    expect(spill.dropOldest()).toBe(2 * clicksPerBatch);
    expect(spill.isEmpty).toBe(true);
  });

  /** No file of this process may grow past this, as on a disk that is full; undefined lifts the limit. */
  function limitFileSize(bytes: number | undefined): void {
    const limit = `--fsize=${bytes ?? 'unlimited'}:`;
    expect(Bun.spawnSync(['prlimit', '--pid', String(process.pid), limit]).exitCode).toBe(0);
  }

  test.skipIf(Bun.which('prlimit') === null)(
    'a disk that is full in the middle of a batch keeps nothing of it (needs prlimit)',
    () => {
      for (const whole of [[], [1]]) {
        const spill = open(10 * frameBytes);
        for (const sequence of whole) spill.push(frameOf(sequence));
        limitFileSize(spill.bytes + frameBytes / 2);
        try {
          expect(() => spill.push(frameOf(4))).toThrow();
        } finally {
          limitFileSize(undefined);
        }
        expect(open().bytes).toBe(spill.bytes);
        expect(spill.isEmpty).toBe(whole.length === 0);
        spill.push(frameOf(7));
        expect(drain(spill)).toEqual([...whole, 7]);
        expect(problems).toEqual([]);
      }
    },
  );

  test('a full disk is reported to the caller, and used again once it accepts writes', () => {
    writeFileSync(folder, 'in the way');
    const spill = open();
    expect(() => spill.push(frameOf(1))).toThrow();
    expect([spill.isEmpty, spill.bytes]).toEqual([true, 0]);
    rmSync(folder);
    spill.push(frameOf(1));
    expect(clickCount(spill.peek()!.batch)).toBe(clicksPerBatch);
  });
});
