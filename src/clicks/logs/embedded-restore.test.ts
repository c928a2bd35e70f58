import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  cpSync,
  mkdirSync,
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
import type { ManualClock } from '../../base/clock.ts';
import { type Archive, ArchiveDamaged, manifestKey } from '../archive.ts';
import type { MemoryArchive } from '../archives/fake-memory.ts';
import { samplesStart } from '../batch-samples.ts';
import { listDays } from './embedded.ts';
import { contentsOf, isArchived, readMark, verifyDay } from './embedded-archive.ts';
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

describe('restoring', () => {
  beforeEach(async () => {
    clock.advance(dayMs);
    await days.archiver().round();
    for (const name of [day, nextDay]) rmSync(join(folder, name), { recursive: true, force: true });
  });

  test('can be repeated, and changes nothing that is there', async () => {
    await days.restore();
    const contents = contentsOf(folder, day);
    expect(await days.restore()).toEqual([
      { day: nextDay, logs: 1, restored: 0, clicks: 50 },
      { day, logs: 2, restored: 0, clicks: 300 },
    ]);
    expect(contentsOf(folder, day)).toBe(contents);
    expect(isArchived(folder, day)).toBe(true);
  });

  test('completes a log that ends earlier than the archived one', async () => {
    await days.restore();
    const path = join(folder, day, 'two.log');
    const bytes = readFileSync(path);
    truncateSync(path, bytes.length - 10);
    expect(await days.restore()).toContainEqual({ day, logs: 2, restored: 1, clicks: 300 });
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(isArchived(folder, day)).toBe(true);
  });

  test('restores a day in one step, without files of an interrupted restore', async () => {
    const arrivals = join(folder, `${day}.unfinished`);
    mkdirSync(arrivals);
    writeFileSync(join(arrivals, 'left.log'), 'left');
    let made = 0;
    const watched: Archive = {
      ...archive,
      get(key) {
        if (key.startsWith(`clicks/${day}/`)) made = statSync(arrivals).ino;
        return archive.get(key);
      },
    };
    await days.restore(day, watched);
    // A folder that is the same one was renamed with all that is in it.
    expect(statSync(join(folder, day)).ino).toBe(made);
    expect(readdirSync(join(folder, day))).toEqual(['one.log', 'two.log']);
  });

  test('a damaged or missing part is rejected, and nothing of its day appears', async () => {
    const [key] = [...archive.objects.keys()].filter(name => name.startsWith(`clicks/${day}/`));
    const sound = archive.objects.get(key!)!;
    archive.objects.set(key!, sound.with(20, sound[20]! ^ 1));
    await expect(verifyDay(archive, day)).rejects.toThrow(ArchiveDamaged);
    await expect(days.restore()).rejects.toThrow('damaged');
    archive.objects.delete(key!);
    await expect(days.restore()).rejects.toThrow('missing');
    expect(listDays(folder)).toEqual([nextDay]);
    expect(readdirSync(folder)).not.toContain(`${day}.unfinished`);
  });

  test.each([
    ['no JSON', '{'],
    ['a path for a name', JSON.stringify(manifestWith({ name: '../../evil.log' }))],
    ['parts that do not add up', JSON.stringify(manifestWith({ bytes: 7 }))],
    ['another day', JSON.stringify({ ...manifestWith({}), day: '2026-05-31' })],
  ])('a manifest with %s is refused', async (_, text) => {
    archive.objects.set(manifestKey(day), new TextEncoder().encode(text));
    await expect(days.restore()).rejects.toThrow(`the manifest of ${day} in the archive cannot be read`);
    expect(listDays(folder)).toEqual([nextDay]);
  });

  test('a day that is not in the archive is rejected', async () => {
    await expect(days.restore('2026-05-30')).rejects.toThrow('2026-05-30 is not in the archive');
    expect(listDays(folder)).toEqual([]);
  });
});

describe('a log that came back from a backup', () => {
  let backup: string;
  beforeEach(() => {
    backup = mkdtempSync(join(tmpdir(), 'terse-archive-backup-'));
    cpSync(folder, backup, { recursive: true });
    clock.set(samplesStart);
  });
  afterEach(() => rmSync(backup, { recursive: true, force: true }));

  /** Archives what was written since the backup and loses it here; returns the counts with it. */
  async function archiveAndLose(): Promise<unknown> {
    clock.advance(dayMs);
    await days.archiver().round();
    expect(problems).toEqual([]);
    const counted = await days.counts();
    rmSync(folder, { recursive: true, force: true });
    cpSync(backup, folder, { recursive: true });
    return counted;
  }

  const later: [string, () => Promise<void>][] = [
    ['ends earlier than the archived one', () => days.log('two', 101, 60)],
    ['lacks what a later process wrote', () => days.log('three', 1, 40)],
  ];

  test.each(later)('and %s leaves the archive as it is, and counts as archived', async (_, writeMore) => {
    await writeMore();
    await archiveAndLose();
    const manifest = archive.objects.get(manifestKey(day));
    await days.archiver().round();
    expect(archive.objects.get(manifestKey(day))).toBe(manifest!);
    expect(problems).toEqual([
      `the archive has more clicks of ${day} than the log: terse archive restore --day ${day} brings them back`,
    ]);
    expect(isArchived(folder, day)).toBe(true);
    await days.archiver().round();
    expect(problems.length).toBe(1);
    clock.advance((rawDays + 1) * dayMs);
    await days.retain();
    expect(readMark(folder, day)?.state).toBe('verified');
  });

  test.each(later)('and %s is completed by a restore', async (_, writeMore) => {
    await writeMore();
    const counted = await archiveAndLose();
    expect(await days.restore()).toEqual([expect.objectContaining({ restored: 1 })]);
    expect(await days.counts()).toEqual(counted);
    await days.archiver().round();
    expect(problems).toEqual([]);
    expect(isArchived(folder, day)).toBe(true);
  });

  test('is not taken for archived while the archive has only a part of it, until a restore has joined the two', async () => {
    await days.log('two', 101, 60);
    await archiveAndLose();
    const manifest = archive.objects.get(manifestKey(day));
    clock.set(samplesStart);
    await days.log('three', 1, 40);
    clock.advance(dayMs);
    await days.archiver().round();
    expect(problems.splice(0)).toEqual([expect.stringContaining('and not all of three.log, which is here')]);
    expect(archive.objects.get(manifestKey(day))).toBe(manifest!);
    expect(isArchived(folder, day)).toBe(false);
    await days.restore();
    await days.archiver().round();
    expect(problems).toEqual([]);
    const { files } = await verifyDay(archive, day);
    expect(files.map(({ name, clicks }) => [name, clicks])).toEqual([
      ['one.log', 200],
      ['three.log', 40],
      ['two.log', 160],
    ]);
  });

  test('and whose part in the archive is damaged does not count as archived', async () => {
    await days.log('three', 1, 40);
    await archiveAndLose();
    const [key] = [...archive.objects.keys()].filter(name => name.startsWith(`clicks/${day}/`));
    archive.objects.delete(key!);
    await days.archiver().round();
    expect(problems).toEqual([expect.stringContaining('is missing in the archive')]);
    expect(isArchived(folder, day)).toBe(false);
  });
});

function manifestWith(change: object): object {
  const file = { name: 'one.log', producer: 'one', bytes: 0, sha256: '0'.repeat(64), parts: [], ...change };
  return { version: 1, day, files: [file] };
}
