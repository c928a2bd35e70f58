import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../base/clock.ts';
import { headPath, makeHeadsFolder, ProducerHeadFile, readHeads } from './log-folder.ts';

describe('heads of producers', () => {
  let folder: string;
  const clock = new ManualClock();
  const open = (producer: string) => new ProducerHeadFile(headPath(folder, producer));

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'terse-heads-'));
    makeHeadsFolder(folder);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('report how far each has numbered, and which have been silent for too long', () => {
    const [one, two] = [open('one'), open('two')];
    one.note(7, 123);
    one.beat(clock.now());
    two.note(9, 456);
    two.beat(clock.now() - 60_000);
    expect(readHeads(folder, clock).sort((a, b) => a.sequence - b.sequence)).toEqual([
      { producer: 'one', sequence: 7, lastClickAt: 123, storedUntil: 0, alive: true },
      { producer: 'two', sequence: 9, lastClickAt: 456, storedUntil: 0, alive: false },
    ]);
    expect(one.read()).toEqual({ sequence: 7, lastClickAt: 123, storedUntil: 0, aliveAt: clock.now() });
  });

  test('the time up to which clicks are stored never decreases, also for a new thread', () => {
    open('one').stored(500);
    open('one').stored(400);
    expect(open('one').read().storedUntil).toBe(500);
    expect(readHeads(folder, clock)).toMatchObject([{ producer: 'one', storedUntil: 500 }]);
  });

  test('the next process that opens the page finds the numbers of partitions, which overwrite nothing else', () => {
    const head = open('one');
    head.note(7, 123);
    head.numbers(500).fill(5);
    const next = open('one');
    expect(Array.from(next.numbers(3))).toEqual([5, 5, 5]);
    expect(next.read()).toMatchObject({ sequence: 7, lastClickAt: 123 });
    next.note(8, 124);
    expect(next.numbers(500).every(number => number === 5)).toBe(true);
  });

  test('more partitions than fit are rejected', () => {
    expect(() => open('one').numbers(505)).toThrow('too many');
  });
});
