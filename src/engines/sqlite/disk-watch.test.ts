import { beforeEach, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { DiskWatch } from './disk-watch.ts';

let clock: ManualClock;
let diskReads: number;
let watch: DiskWatch;
beforeEach(() => {
  clock = new ManualClock();
  diskReads = 5;
  watch = new DiskWatch({ clock, diskReads: () => diskReads });
});

test('reads are quick until one has waited for the disk', () => {
  expect(watch.isSlow).toBe(false);
  diskReads += 1;
  watch.note(0.2);
  expect(watch.isSlow).toBe(false);
  watch.note(30);
  expect(watch.isSlow).toBe(true);
});

test('a read that took long without the disk is the fault of a busy machine', () => {
  watch.note(30);
  expect(watch.isSlow).toBe(false);
});

test('a read that waited in the past says nothing about a later one that did not', () => {
  diskReads += 1;
  watch.note(30);
  clock.advance(60_000);
  watch.note(30);
  expect(watch.isSlow).toBe(false);
});

test('reads are quick again a minute after the last that waited', () => {
  for (let times = 0; times < 3; times += 1) {
    diskReads += 1;
    watch.note(2);
    clock.advance(59_000);
    expect(watch.isSlow).toBe(true);
  }
  clock.advance(1_000);
  expect(watch.isSlow).toBe(false);
});
