import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  cpSync,
  existsSync,
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
import { ManualClock } from '../../../base/clock.ts';
import { seededRandom } from '../../../base/random.ts';
import { type Archive, ArchiveAway, ArchiveDamaged, manifestKey } from '../../archive.ts';
import { createMemoryArchive, type MemoryArchive } from '../../archives/memory.ts';
import { randomClicks, sampleBatch, samplesStart } from '../../batch-samples.ts';
import { rebuildFrom } from '../../rebuild.ts';
import { openSqliteWarehouse } from '../../warehouses/sqlite/warehouse.ts';
import { archiveDay, verifyDay } from './archive-day.ts';
import { contentsOf, isArchived, overdueDaysMax, readMark, restoredDays } from './archive-marks.ts';
import { Archiver } from './archiver.ts';
import { restoreFrom } from './restore.ts';
import { applyRetention } from './retention.ts';
import { createEmbeddedStream, listDays } from './stream.ts';

const day = '2026-06-01';
const nextDay = '2026-06-02';
const dayMs = 24 * 60 * 60_000;
const rawDays = 30;

let folder: string;
let clock: ManualClock;
let archive: MemoryArchive;
let problems: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'terse-archive-'));
  clock = new ManualClock(samplesStart);
  archive = createMemoryArchive();
  problems = [];
  await log('one', 1, 200);
  await log('two', 1, 100);
  clock.advance(dayMs);
  await log('one', 201, 50);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function log(producer: string, firstSequence: number, count: number): Promise<void> {
  const clicks = randomClicks(seededRandom(firstSequence), count, 1);
  const stream = createEmbeddedStream({ folder, producer, clock });
  await stream.append(sampleBatch(firstSequence, clicks));
  await stream.close();
}

const archiver = (into: Archive = archive): Archiver =>
  new Archiver({
    archive: into,
    logFolder: folder,
    clock,
    onProblem: (what, error) => problems.push(`${what}: ${(error as Error).message}`),
  });

const restore = (first = day, restored: unknown[] = []) =>
  restoreFrom({ archive, logFolder: folder, clock }, first, done => restored.push(done));

/** All that was counted of the log as it is now. */
async function counts(): Promise<unknown> {
  const warehouse = openSqliteWarehouse(':memory:');
  const stream = createEmbeddedStream({ folder, producer: 'reader', clock });
  await rebuildFrom(warehouse, {
    source: stream,
    keptFrom: await stream.keptFrom(),
    producers: ['one', 'two', 'three'],
  });
  const scope = { kind: 'owner', ownerId: 'acc_1' } as const;
  const [from, to] = [0, Number.MAX_SAFE_INTEGER];
  const all = [
    await warehouse.total(scope),
    await warehouse.series(scope, 'minute', from, to),
    await warehouse.uniques([scope], from, to),
    await warehouse.ledger(from, to),
  ];
  await warehouse.close();
  return all;
}

const retain = (archives = true) =>
  applyRetention({
    logFolder: folder,
    rawDays,
    archives,
    minuteDays: 14,
    clock,
    positions: async () => new Map(readLogs().map(partition => [partition, Number.MAX_SAFE_INTEGER])),
    dropMinutes: async () => 0,
    living: async () => new Set<string>(),
    retire: async () => {},
  });
const readLogs = (): string[] =>
  listDays(folder).flatMap(name => readdirSync(join(folder, name)).map(file => `${name}/${file}`));

describe('archiving', () => {
  test('a day that was archived, removed, restored and counted again has the same counts', async () => {
    const before = await counts();
    const bytes = readFileSync(join(folder, day, 'one.log'));
    await archiver().round();
    clock.advance((rawDays + 1) * dayMs);
    await archiver().round();
    await retain();
    expect(listDays(folder)).toEqual([]);
    const restored: unknown[] = [];
    await restore(day, restored);
    expect(restored).toEqual([
      { day: nextDay, logs: 1, restored: 1, clicks: 50 },
      { day, logs: 2, restored: 2, clicks: 300 },
    ]);
    expect(readFileSync(join(folder, day, 'one.log')).equals(bytes)).toBe(true);
    expect(await counts()).toEqual(before);
    expect(problems).toEqual([]);
  });

  test('a day is archived when it is over and not before, and its manifest accounts for every click', async () => {
    await archiver().round();
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
    expect(archiver().figures()).toEqual({
      archived: 1,
      lost: 0,
      waiting: 0,
      lastDayAt: Date.parse(day),
      failures: 0,
    });
  });

  test('large logs go in parts and come back whole, half a frame at the end included', async () => {
    appendFileSync(join(folder, day, 'two.log'), 'half a frame');
    const bytes = readFileSync(join(folder, day, 'two.log'));
    await archiveDay(archive, folder, day, 100);
    expect(archive.objects.size).toBeGreaterThan(10);
    await rmDay();
    await restore();
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
          return left < 0 ? Promise.reject(new ArchiveAway('gone')) : target.put(key, bytes);
        },
      };
      await archiver(breaking).round();
      expect(target.objects.has(manifestKey(day))).toBe(false);
      expect(isArchived(folder, day)).toBe(false);
      left = wholePuts;
      await archiver(breaking).round();
      await verifyDay(target, day);
      expect(isArchived(folder, day)).toBe(true);
      rmSync(join(folder, 'archived'), { recursive: true });
    }
    expect(problems).toEqual(Array(wholePuts).fill(`clicks of ${day} cannot be archived: gone`));
  });

  test('what the archive did not keep as it was given is noticed before the day is marked', async () => {
    let wrong = 'clicks/';
    const careless = archiver({
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
      expect.stringContaining('the manifest of 2026-06-01 in the archive cannot be read'),
    ]);
    wrong = 'nothing';
    await careless.round();
    expect(isArchived(folder, day)).toBe(true);
  });

  test('an archive that is away is asked once a round; one that refuses a day is asked for the next', async () => {
    clock.advance(dayMs);
    const refusing = (error: Error): Archive => ({ ...archive, put: () => Promise.reject(error) });
    await archiver(refusing(new ArchiveAway('gone'))).round();
    expect(problems.splice(0)).toEqual([`clicks of ${day} cannot be archived: gone`]);
    await archiver(refusing(new Error('no'))).round();
    expect(problems).toEqual([
      `clicks of ${day} cannot be archived: no`,
      `clicks of ${nextDay} cannot be archived: no`,
    ]);
  });

  test('a manifest that was damaged is put anew with its day', async () => {
    await archiver().round();
    archive.objects.set(manifestKey(day), Uint8Array.of(0));
    rmSync(join(folder, 'archived'), { recursive: true });
    await archiver().round();
    expect(problems).toEqual([]);
    await verifyDay(archive, day);
  });

  test('a day that grew after it was archived is archived again', async () => {
    await archiver().round();
    appendFileSync(join(folder, day, 'two.log'), 'more');
    expect(isArchived(folder, day)).toBe(false);
    await archiver().round();
    expect(isArchived(folder, day)).toBe(true);
    expect((await verifyDay(archive, day)).files.map(({ bytes }) => bytes)).toContain(
      readFileSync(join(folder, day, 'two.log')).length,
    );
  });

  test('a prefix that another installation uses is left alone', async () => {
    await archiver().round();
    const manifest = archive.objects.get(manifestKey(day));
    await rmDay();
    rmSync(join(folder, 'archived'), { recursive: true });
    clock.set(samplesStart);
    await log('stranger', 1, 5);
    clock.advance(dayMs);
    await archiver().round();
    expect(problems).toEqual([expect.stringContaining('each data folder needs a prefix of its own')]);
    expect(archive.objects.get(manifestKey(day))).toBe(manifest!);
  });

  const rmDay = async (): Promise<void> => rmSync(join(folder, day), { recursive: true });
});

describe('a log that came back from a backup', () => {
  let backup: string;
  beforeEach(() => {
    backup = mkdtempSync(join(tmpdir(), 'terse-archive-backup-'));
    cpSync(folder, backup, { recursive: true });
    clock.set(samplesStart);
  });
  afterEach(() => rmSync(backup, { recursive: true, force: true }));

  /** Archives what was written since the backup, loses it here, and gives what was counted of it. */
  async function archiveAndLose(): Promise<unknown> {
    clock.advance(dayMs);
    await archiver().round();
    expect(problems).toEqual([]);
    const counted = await counts();
    rmSync(folder, { recursive: true });
    cpSync(backup, folder, { recursive: true });
    return counted;
  }

  const later: [string, () => Promise<void>][] = [
    ['ends earlier than the archived one', () => log('two', 101, 60)],
    ['lacks what a later process wrote', () => log('three', 1, 40)],
  ];

  test.each(later)('and %s leaves the archive as it is, and counts as archived', async (_, writeMore) => {
    await writeMore();
    await archiveAndLose();
    const manifest = archive.objects.get(manifestKey(day));
    await archiver().round();
    expect(archive.objects.get(manifestKey(day))).toBe(manifest!);
    expect(problems).toEqual([
      `the archive has more clicks of ${day} than the log: terse archive restore --day ${day} brings them back`,
    ]);
    expect(isArchived(folder, day)).toBe(true);
    await archiver().round();
    expect(problems.length).toBe(1);
    clock.advance((rawDays + 1) * dayMs);
    await retain();
    expect(readMark(folder, day)?.state).toBe('verified');
  });

  test.each(later)('and %s is completed by a restore', async (_, writeMore) => {
    await writeMore();
    const counted = await archiveAndLose();
    const restored: unknown[] = [];
    await restore(day, restored);
    expect(restored).toEqual([expect.objectContaining({ restored: 1 })]);
    expect(await counts()).toEqual(counted);
    await archiver().round();
    expect(problems).toEqual([]);
    expect(isArchived(folder, day)).toBe(true);
  });

  test('is not taken for archived while the archive has only a part of it, until a restore has joined the two', async () => {
    await log('two', 101, 60);
    await archiveAndLose();
    const manifest = archive.objects.get(manifestKey(day));
    clock.set(samplesStart);
    await log('three', 1, 40);
    clock.advance(dayMs);
    await archiver().round();
    expect(problems.splice(0)).toEqual([expect.stringContaining('and not all of three.log, which is here')]);
    expect(archive.objects.get(manifestKey(day))).toBe(manifest!);
    expect(isArchived(folder, day)).toBe(false);
    await restore();
    await archiver().round();
    expect(problems).toEqual([]);
    const { files } = await verifyDay(archive, day);
    expect(files.map(({ name, clicks }) => [name, clicks])).toEqual([
      ['one.log', 200],
      ['three.log', 40],
      ['two.log', 160],
    ]);
  });

  test('and whose part in the archive is damaged does not count as archived', async () => {
    await log('three', 1, 40);
    await archiveAndLose();
    const [key] = [...archive.objects.keys()].filter(name => name.startsWith(`clicks/${day}/`));
    archive.objects.delete(key!);
    await archiver().round();
    expect(problems).toEqual([expect.stringContaining('is missing in the archive')]);
    expect(isArchived(folder, day)).toBe(false);
  });
});

describe('retention with an archive', () => {
  test('a day that is not archived stays beyond its time, until it is or is overdue', async () => {
    clock.advance((rawDays + 1) * dayMs);
    await retain();
    expect(listDays(folder)).toContain(day);
    clock.advance((overdueDaysMax - 3) * dayMs);
    await retain();
    expect(listDays(folder)).toContain(day);
    clock.advance(4 * dayMs);
    await retain();
    expect(listDays(folder)).toEqual([]);
    expect(readMark(folder, day)?.state).toBe('lost');
    expect(archiver().figures()).toMatchObject({ archived: 0, lost: 2, waiting: 0 });
    await expect(restore()).rejects.toThrow('removed before it was archived');
  });

  test('without an archive nothing is held and nothing is marked', async () => {
    clock.advance((rawDays + 3) * dayMs);
    await retain(false);
    expect(listDays(folder)).toEqual([]);
    expect(existsSync(join(folder, 'archived'))).toBe(false);
  });

  test('a restored day stays for a while although its time is over, and then goes', async () => {
    clock.advance((rawDays + 3) * dayMs);
    await archiver().round();
    await retain();
    await restore();
    await retain();
    expect(listDays(folder)).toEqual([day, nextDay]);
    clock.advance(restoredDays * dayMs);
    await retain();
    expect(listDays(folder)).toEqual([]);
    expect(readMark(folder, day)?.state).toBe('verified');
  });
});

describe('restoring', () => {
  beforeEach(async () => {
    clock.advance(dayMs);
    await archiver().round();
    for (const name of [day, nextDay]) rmSync(join(folder, name), { recursive: true });
  });

  test('can be repeated, and changes nothing that is there', async () => {
    await restore();
    const contents = contentsOf(folder, day);
    const again: unknown[] = [];
    await restore(day, again);
    expect(again).toEqual([
      { day: nextDay, logs: 1, restored: 0, clicks: 50 },
      { day, logs: 2, restored: 0, clicks: 300 },
    ]);
    expect(contentsOf(folder, day)).toBe(contents);
    expect(isArchived(folder, day)).toBe(true);
  });

  test('completes a log that ends earlier than the archived one', async () => {
    await restore();
    const path = join(folder, day, 'two.log');
    const bytes = readFileSync(path);
    truncateSync(path, bytes.length - 10);
    const again: unknown[] = [];
    await restore(day, again);
    expect(again).toContainEqual({ day, logs: 2, restored: 1, clicks: 300 });
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(isArchived(folder, day)).toBe(true);
  });

  test('brings a day in one step, without what an interrupted one left', async () => {
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
    await restoreFrom({ archive: watched, logFolder: folder, clock }, day, () => {});
    // A folder that is the same one was renamed with all that is in it.
    expect(statSync(join(folder, day)).ino).toBe(made);
    expect(readdirSync(join(folder, day))).toEqual(['one.log', 'two.log']);
  });

  test('a damaged or missing part is refused, and nothing of its day appears', async () => {
    const [key] = [...archive.objects.keys()].filter(name => name.startsWith(`clicks/${day}/`));
    const sound = archive.objects.get(key!)!;
    archive.objects.set(key!, sound.with(20, sound[20]! ^ 1));
    await expect(verifyDay(archive, day)).rejects.toThrow(ArchiveDamaged);
    await expect(restore()).rejects.toThrow('damaged');
    archive.objects.delete(key!);
    await expect(restore()).rejects.toThrow('missing');
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
    await expect(restore()).rejects.toThrow(`the manifest of ${day} in the archive cannot be read`);
    expect(listDays(folder)).toEqual([nextDay]);
  });

  test('a day that is not in the archive is refused', async () => {
    await expect(restore('2026-05-30')).rejects.toThrow('2026-05-30 is not in the archive');
    expect(listDays(folder)).toEqual([]);
  });
});

function manifestWith(change: object): object {
  const file = { name: 'one.log', producer: 'one', bytes: 0, sha256: '0'.repeat(64), parts: [], ...change };
  return { version: 1, day, files: [file] };
}
