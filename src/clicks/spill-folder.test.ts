import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { clickCount } from './click.ts';
import { encodeFrame } from './frame.ts';
import { SpillFolder, spilledProducers } from './spill-folder.ts';

const batchOf = (firstSequence: number, clicks = 2) =>
  sampleBatch(
    firstSequence,
    Array.from({ length: clicks }, (_, index) => ({ at: samplesStart + index, visitor: index * 7 })),
  );
const frameBytes = encodeFrame('one', batchOf(1)).length;
const plenty = 1024 * 1024;

let folder: string;
let problems: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-spills-'));
  problems = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (producer: string, bytesMax = plenty) =>
  new SpillFolder({ folder, producer, bytesMax, onProblem: what => problems.push(what) });
const bytesOnDisk = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((bytes, entry) => bytes + statSync(join(entry.parentPath, entry.name)).size, 0);
function drainInherited(spill: SpillFolder): [string, number][] {
  const found: [string, number][] = [];
  for (let frame = spill.peekInherited(); frame !== undefined; frame = spill.peekInherited()) {
    found.push([frame.producer, frame.batch.firstSequence]);
    spill.shiftInherited();
  }
  return found;
}
function drainOwn(spill: SpillFolder): number[] {
  const found: number[] = [];
  for (let frame = spill.peekOwn(); frame !== undefined; frame = spill.peekOwn()) {
    found.push(frame.batch.firstSequence);
    spill.shiftOwn();
  }
  return found;
}

describe('the folder of spills', () => {
  test('never takes more than its bound; the oldest go, each click of them counted', () => {
    const script = fc.tuple(
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: frameBytes * 3, max: frameBytes * 30 }),
    );
    fc.assert(
      fc.property(script, ([sizes, bytesMax]) => {
        rmSync(folder, { recursive: true, force: true });
        const spill = open('one', bytesMax);
        let sequence = 1;
        const pushed: number[] = [];
        for (const clicks of sizes) {
          spill.push(batchOf(sequence, clicks));
          pushed.push(sequence);
          sequence += clicks;
          expect(bytesOnDisk()).toBeLessThanOrEqual(bytesMax);
          expect(spill.bytes).toBe(bytesOnDisk());
        }
        const kept = drainOwn(spill);
        expect(kept).toEqual(pushed.slice(pushed.length - kept.length));
        expect(kept.at(-1)).toBe(pushed.at(-1)!);
        expect(spill.dropped).toBe(kept[0]! - 1);
      }),
      { numRuns: 60 },
    );
  });

  test('a batch larger than the bound is rejected and evicts nothing that is there', () => {
    const spill = open('one', frameBytes * 3);
    spill.push(batchOf(1));
    expect(() => spill.push(batchOf(3, 5_000))).toThrow('the spill is full');
    expect(spill.dropped).toBe(0);
    expect(drainOwn(spill)).toEqual([1]);
  });

  test('the bound is for all processes together, and no process drops what another still owns', () => {
    const bytesMax = frameBytes * 4;
    const [one, two] = [open('one', bytesMax), open('two', bytesMax)];
    for (const sequence of [1, 3, 5]) one.push(batchOf(sequence));
    expect(() => two.push(batchOf(1))).toThrow('the spill is full');
    expect(drainOwn(one)).toEqual([1, 3, 5]);
    two.push(batchOf(1));
    expect(drainOwn(two)).toEqual([1]);
  });

  test('each spill of a dead process is inherited by one living process, in order, and the living keep theirs', () => {
    for (const producer of ['dead', 'alive']) {
      const spill = open(producer);
      for (const sequence of [1, 3]) spill.push(batchOf(sequence));
    }
    const [first, second] = [open('first'), open('second')];
    expect([first.hasOthers(), first.isEmpty]).toEqual([true, true]);
    for (const heir of [first, second]) heir.inherit(new Set(['alive', 'first', 'second']));
    expect([first.isEmpty, second.isEmpty]).toEqual([false, true]);
    expect(drainInherited(first)).toEqual([
      ['dead', 1],
      ['dead', 3],
    ]);
    expect(drainOwn(open('alive'))).toEqual([1, 3]);
    expect(problems).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('what a process inherited before it died is inherited again, from where that process stopped', () => {
    const dead = open('dead');
    for (const sequence of [1, 3, 5]) dead.push(batchOf(sequence));
    const heir = open('heir');
    heir.inherit(new Set(['heir']));
    heir.shiftInherited();
    const last = open('last');
    last.inherit(new Set(['last']));
    expect(drainInherited(last)).toEqual([
      ['dead', 3],
      ['dead', 5],
    ]);
  });

  test('a process that restarts under its name finds what it spilled and what it inherited', () => {
    open('dead').push(batchOf(1));
    const before = open('one');
    before.push(batchOf(3));
    before.inherit(new Set(['one']));
    const after = open('one');
    expect([drainOwn(after), drainInherited(after)]).toEqual([[3], [['dead', 1]]]);
  });

  test('a process wrongly considered dead continues with a new spill', () => {
    const slow = open('slow');
    slow.push(batchOf(1));
    const heir = open('heir');
    heir.inherit(new Set(['heir']));
    expect(drainInherited(heir)).toEqual([['slow', 1]]);
    expect(slow.peekOwn()).toBeUndefined();
    slow.push(batchOf(3));
    expect(drainOwn(slow)).toEqual([3]);
  });

  test('with a full folder, what was inherited goes before our own', () => {
    const bytesMax = frameBytes * 2.5;
    open('two', bytesMax).push(batchOf(1));
    const spill = open('one', bytesMax);
    spill.inherit(new Set(['one']));
    for (const sequence of [1, 3]) spill.push(batchOf(sequence));
    expect(spill.dropped).toBe(clickCount(batchOf(1)));
    expect([drainInherited(spill), drainOwn(spill)]).toEqual([[], [1, 3]]);
  });

  test('reports the producers of spilled clicks', () => {
    open('dead').push(batchOf(1));
    mkdirSync(join(folder, 'empty~empty'));
    writeFileSync(join(folder, 'stray'), '');
    expect(spilledProducers(folder)).toEqual(new Set(['dead']));
    expect(spilledProducers(join(folder, 'nowhere'))).toEqual(new Set());
  });

  test('a folder that cannot be written is reported before it is needed', () => {
    writeFileSync(join(folder, 'file'), '');
    const spill = new SpillFolder({
      folder: join(folder, 'file/spill'),
      producer: 'one',
      bytesMax: plenty,
      onProblem: what => problems.push(what),
    });
    expect(() => spill.check()).toThrow();
    expect(() => open('one').check()).not.toThrow();
  });
});
