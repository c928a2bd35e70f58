import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ManualClock } from '../../base/clock.ts';
import { type Archive, ArchiveUnavailable, manifestKey } from '../archive.ts';
import { createMemoryArchive, type MemoryArchive } from '../archives/fake-memory.ts';
import { samplesStart } from '../batch-samples.ts';
import { listDays } from './embedded.ts';
import {
  archiveDay,
  isArchived,
  overdueDaysMax,
  readMark,
  restoredDays,
  verifyDay,
} from './embedded-archive.ts';
import { day, dayMs, FakeLogDays, nextDay, rawDays } from './fake-log-days.ts';

let days: FakeLogDays;
let folder: string;
let clock: ManualClock;
let archive: MemoryArchive;
let problems: string[];

beforeEach(async () => {
  days = await FakeLogDays.begin();
  ({ folder, clock, archive, problems } = days);
});
afterEach(() => days.end());

describe('archiving', () => {
  test('a day that was archived, removed, restored and counted again has the same counts', async () => {
    const before = await days.counts();
    const bytes = readFileSync(join(folder, day, 'one.log'));
    await days.archiver().round();
    clock.advance((rawDays + 1) * dayMs);
    await days.archiver().round();
    await days.retain();
    expect(listDays(folder)).toEqual([]);
    expect(await days.restore()).toEqual([
      { day: nextDay, logs: 1, restored: 1, clicks: 50 },
      { day, logs: 2, restored: 2, clicks: 300 },
    ]);
    expect(readFileSync(join(folder, day, 'one.log')).equals(bytes)).toBe(true);
    expect(await days.counts()).toEqual(before);
    expect(problems).toEqual([]);
  });

  test('a day is archived when it is over and not before, and its manifest accounts for every click', async () => {
    await days.archiver().round();
    expect([isArchived(folder, day), isArchived(folder, nextDay)]).toEqual([true, false]);
    const { files } = await verifyDay(archive, day);
    expect(
      files.map(({ name, producer, clicks, firstSequence, lastSequence }) => [
        name,
        producer,
        clicks,
        firstSequence,
        lastSequence,
      ]),
    ).toEqual([
      ['one.log', 'one', 200, 1, 200],
      ['two.log', 'two', 100, 1, 100],
    ]);
    expect(days.archiver().figures()).toEqual({
      archived: 1,
      lost: 0,
      waiting: 0,
      lastDayAt: Date.parse(day),
      failures: 0,
    });
  });

  test('large logs are archived in parts and restored whole, including half a frame at the end', async () => {
    appendFileSync(join(folder, day, 'two.log'), 'half a frame');
    const bytes = readFileSync(join(folder, day, 'two.log'));
    await archiveDay(archive, folder, day, 100);
    expect(archive.objects.size).toBeGreaterThan(10);
    await rmDay();
    await days.restore();
    expect(readFileSync(join(folder, day, 'two.log')).equals(bytes)).toBe(true);
  });

  test('an upload that is interrupted anywhere is no archived day, and is done again', async () => {
    const wholePuts = 3;
    for (let puts = 0; puts < wholePuts; puts += 1) {
      const target = createMemoryArchive();
      let left = puts;
      const breaking: Archive = {
        ...target,
        put(key, bytes) {
          left -= 1;
          return left < 0 ? Promise.reject(new ArchiveUnavailable('gone')) : target.put(key, bytes);
        },
      };
      await days.archiver(breaking).round();
      expect(target.objects.has(manifestKey(day))).toBe(false);
      expect(isArchived(folder, day)).toBe(false);
      left = wholePuts;
      await days.archiver(breaking).round();
      await verifyDay(target, day);
      expect(isArchived(folder, day)).toBe(true);
      rmSync(join(folder, 'archived'), { recursive: true, force: true });
    }
    expect(problems).toEqual(Array(wholePuts).fill(`clicks of ${day} cannot be archived: gone`));
  });

  test('damage in the archive is noticed before the day is marked', async () => {
    let wrong = 'clicks/';
    const careless = days.archiver({
      ...archive,
      get: async key => (await archive.get(key))?.fill(0, 5, key.startsWith(wrong) ? 6 : 5),
    });
    await careless.round();
    expect(isArchived(folder, day)).toBe(false);
    wrong = 'days/';
    await careless.round();
    expect(isArchived(folder, day)).toBe(false);
    expect(careless.figures()).toMatchObject({ archived: 0, waiting: 1, failures: 2 });
    expect(problems).toEqual([
      expect.stringContaining('damaged'),
      expect.stringContaining('days/2026-06-01.json is not in the archive as it was put there'),
    ]);
    wrong = 'nothing';
    await careless.round();
    expect(isArchived(folder, day)).toBe(true);
  });

  test('an unavailable archive is asked once a round; one that rejects a day is asked for the next', async () => {
    clock.advance(dayMs);
    const refusing = (error: Error): Archive => ({ ...archive, put: () => Promise.reject(error) });
    await days.archiver(refusing(new ArchiveUnavailable('gone'))).round();
    expect(problems.splice(0)).toEqual([`clicks of ${day} cannot be archived: gone`]);
    await days.archiver(refusing(new Error('no'))).round();
    expect(problems).toEqual([
      `clicks of ${day} cannot be archived: no`,
      `clicks of ${nextDay} cannot be archived: no`,
    ]);
  });

  test('a damaged manifest is written again with its day', async () => {
    await days.archiver().round();
    archive.objects.set(manifestKey(day), Uint8Array.of(0));
    rmSync(join(folder, 'archived'), { recursive: true, force: true });
    await days.archiver().round();
    expect(problems).toEqual([]);
    await verifyDay(archive, day);
  });

  test('a day that grew after it was archived is archived again', async () => {
    await days.archiver().round();
    appendFileSync(join(folder, day, 'two.log'), 'more');
    expect(isArchived(folder, day)).toBe(false);
    await days.archiver().round();
    expect(isArchived(folder, day)).toBe(true);
    expect((await verifyDay(archive, day)).files.map(({ bytes }) => bytes)).toContain(
      readFileSync(join(folder, day, 'two.log')).length,
    );
  });

  test('a prefix that another installation uses is left alone', async () => {
    await days.archiver().round();
    const manifest = archive.objects.get(manifestKey(day));
    await rmDay();
    rmSync(join(folder, 'archived'), { recursive: true, force: true });
    clock.set(samplesStart);
    await days.log('stranger', 1, 5);
    clock.advance(dayMs);
    await days.archiver().round();
    expect(problems).toEqual([expect.stringContaining('each data folder needs a prefix of its own')]);
    expect(archive.objects.get(manifestKey(day))).toBe(manifest!);
  });

  const rmDay = async (): Promise<void> => rmSync(join(folder, day), { recursive: true, force: true });
});

describe('retention with an archive', () => {
  test('a day that is not archived stays beyond its time, until it is or is overdue', async () => {
    clock.advance((rawDays + 1) * dayMs);
    await days.retain();
    expect(listDays(folder)).toContain(day);
    clock.advance((overdueDaysMax - 3) * dayMs);
    await days.retain();
    expect(listDays(folder)).toContain(day);
    clock.advance(4 * dayMs);
    await days.retain();
    expect(listDays(folder)).toEqual([]);
    expect(readMark(folder, day)?.state).toBe('lost');
    expect(days.archiver().figures()).toMatchObject({ archived: 0, lost: 2, waiting: 0 });
    await expect(days.restore()).rejects.toThrow('removed before it was archived');
  });

  test('without an archive nothing is held and nothing is marked', async () => {
    clock.advance((rawDays + 3) * dayMs);
    await days.retain(false);
    expect(listDays(folder)).toEqual([]);
    expect(existsSync(join(folder, 'archived'))).toBe(false);
  });

  test('a restored day stays for a while although its time is over, and then goes', async () => {
    clock.advance((rawDays + 3) * dayMs);
    await days.archiver().round();
    await days.retain();
    await days.restore();
    await days.retain();
    expect(listDays(folder)).toEqual([day, nextDay]);
    clock.advance(restoredDays * dayMs);
    await days.retain();
    expect(listDays(folder)).toEqual([]);
    expect(readMark(folder, day)?.state).toBe('verified');
  });
});
