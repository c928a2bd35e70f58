import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../../base/clock.ts';
import { files } from '../../base/files.ts';
import { sampleBatch, samplesStart } from '../batch-samples.ts';
import { clickCount } from '../click.ts';
import { exportPart } from '../export.ts';
import { clickLogConformance } from '../log.conformance.ts';
import { readBatches } from '../log.ts';
import { headPath, ProducerHeadFile } from '../log-folder.ts';
import type { Filter } from '../warehouse.ts';
import { createEmbeddedLog, listDays, openEmbeddedLog } from './embedded.ts';
import { applyRetention } from './embedded-retention.ts';

let folder: string;
let clock: ManualClock;
const open = (producer = 'one') => createEmbeddedLog({ folder, producer, clock });
const oneClick = (sequence: number) => sampleBatch(sequence, [{ at: clock.now() }]);
const readCounts = async (partition: string) =>
  (await readBatches(open('reader'), partition, 0, 1024 * 1024)).map(({ batch }) => clickCount(batch));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-clicks-'));
  clock = new ManualClock(samplesStart);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

clickLogConformance('embedded', async () => ({
  open(producer) {
    const stream = open(producer);
    return { writer: stream, log: stream, close: () => stream.close() };
  },
  dispose: async () => {},
}));

describe('the click log', () => {
  test('a frame cut off by a crash ends the reading there, at every possible cut', async () => {
    const stream = open();
    const { partition, to: whole } = await stream.append(oneClick(1));
    const { to: end } = await stream.append(oneClick(2));
    const bytes = readFileSync(join(folder, partition));
    for (let cut = end - 1; cut > whole; cut -= 1) {
      truncateSync(join(folder, partition), cut);
      expect(await readCounts(partition)).toEqual([1]);
    }
    writeFileSync(join(folder, partition), bytes);
    expect(await readCounts(partition)).toEqual([1, 1]);
  });

  test('a damaged byte is noticed wherever it is', async () => {
    const { partition, to } = await open().append(oneClick(1));
    const bytes = readFileSync(join(folder, partition));
    for (let position = 0; position < to; position += 1) {
      const damaged = Buffer.from(bytes);
      damaged[position]! ^= 0x41;
      writeFileSync(join(folder, partition), damaged);
      expect(await readCounts(partition)).toEqual([]);
    }
  });

  test('garbage at the end does no harm to what is before it', async () => {
    const { partition } = await open().append(oneClick(1));
    appendFileSync(join(folder, partition), 'garbage');
    expect(await readCounts(partition)).toEqual([1]);
  });

  test('each day has a separate file', async () => {
    const stream = open();
    await stream.append(oneClick(1));
    clock.advance(24 * 60 * 60_000);
    await stream.append(oneClick(2));
    expect(listDays(folder)).toEqual(['2026-06-01', '2026-06-02']);
  });

  test('a day that cannot be opened leaves the day before in use, and nothing else’s file is touched', async () => {
    const stream = open();
    await stream.append(oneClick(1));
    clock.advance(24 * 60 * 60_000);
    writeFileSync(join(folder, '2026-06-02'), 'in the way');
    await expect(stream.append(oneClick(2))).rejects.toThrow();
    const other = openSync(join(folder, 'other'), 'w');
    await expect(stream.append(oneClick(2))).rejects.toThrow();
    writeSync(other, 'mine');
    expect(readFileSync(join(folder, 'other'), 'utf8')).toBe('mine');
    closeSync(other);
    rmSync(join(folder, '2026-06-02'));
    const { partition } = await stream.append(oneClick(2));
    expect(await readCounts(partition)).toEqual([1]);
  });

  test('half a frame that could not be removed at once is removed before the next append', async () => {
    const stream = open();
    const { partition } = await stream.append(oneClick(1));
    const { fsyncSync, ftruncateSync } = files;
    const failing = (): never => {
      throw new Error('EIO');
    };
    Object.assign(files, { fsyncSync: failing, ftruncateSync: failing });
    try {
      await expect(stream.append(oneClick(2))).rejects.toThrow('EIO');
      await expect(stream.append(oneClick(2))).rejects.toThrow('EIO');
      Object.assign(files, { fsyncSync });
      // As long as it cannot be removed, nothing is appended after it.
      await expect(stream.append(oneClick(2))).rejects.toThrow('EIO');
    } finally {
      Object.assign(files, { fsyncSync, ftruncateSync });
    }
    appendFileSync(join(folder, partition), 'half a frame');
    const { to } = await stream.append(oneClick(2));
    expect(await readCounts(partition)).toEqual([1, 1]);
    expect(statSync(join(folder, partition)).size).toBe(to);
  });

  test('a clock that is set back over midnight does not put numbers out of order', async () => {
    const stream = open();
    const days: string[] = [];
    for (const [sequence, hours] of [
      [1, 0],
      [2, 24],
      [3, -1],
      [4, 26],
    ] as const) {
      clock.set(samplesStart + hours * 60 * 60_000);
      days.push((await stream.append(oneClick(sequence))).partition.slice(0, 10));
    }
    expect(days).toEqual(['2026-06-01', '2026-06-02', '2026-06-02', '2026-06-02']);
  });

  test('deletions are remembered, the latest for each link, also after a line was cut off', async () => {
    const stream = open();
    await stream.markForgotten('a', 5);
    await stream.markForgotten('b', 7);
    await stream.markForgotten('a', 3);
    appendFileSync(join(folder, 'forgotten'), 'c 12');
    expect(await open('other').forgotten()).toEqual(
      new Map([
        ['a', 5],
        ['b', 7],
      ]),
    );
  });

  test('a log in which nothing can be read keeps no day, and heads go with their last log', async () => {
    for (const producer of ['torn', 'living']) {
      open(producer);
      new ProducerHeadFile(headPath(folder, producer)).note(1, clock.now());
    }
    const { partition } = await open('torn').append(oneClick(1));
    truncateSync(join(folder, partition), 20);
    const retired: string[] = [];
    clock.advance(40 * 24 * 60 * 60_000);
    await applyRetention({
      logFolder: folder,
      rawDays: 30,
      clock,
      positions: async () => new Map(),
      living: async () => new Set(['living']),
      retire: async partitions => void retired.push(...partitions),
    });
    expect(listDays(folder)).toEqual([]);
    expect(retired).toEqual([partition]);
    expect((await open('reader').producers()).map(({ producer }) => producer)).toEqual(['living']);
  });

  test('a producer whose clicks another has stored keeps its head as long as they are there', async () => {
    for (const producer of ['dead', 'gone']) {
      open(producer);
      new ProducerHeadFile(headPath(folder, producer)).note(1, clock.now());
    }
    await open('old').append(oneClick(1));
    clock.advance(40 * 24 * 60 * 60_000);
    await open('heir').append(oneClick(1), 'dead');
    await applyRetention({
      logFolder: folder,
      rawDays: 30,
      clock,
      positions: async () => new Map([['2026-06-01/old.log', 1_000]]),
      living: async () => new Set<string>(),
      retire: async () => {},
    });
    expect((await open('reader').producers()).map(({ producer }) => producer)).toEqual(['dead']);
  });

  test('a producer’s newest number is known from outside, and so is whether it lives', async () => {
    const stream = open();
    const head = new ProducerHeadFile(headPath(folder, 'one'));
    head.beat(clock.now());
    head.note(42, samplesStart + 7);
    expect(await stream.producers()).toEqual([
      { producer: 'one', sequence: 42, lastClickAt: samplesStart + 7, storedUntil: 0, alive: true },
    ]);
    clock.advance(10_000);
    expect((await stream.producers())[0]?.alive).toBe(false);
  });

  test('whole days are removed when their retention is over, but never before they are counted', async () => {
    const stream = open();
    const { partition, to } = await stream.append(oneClick(1));
    const retention = (positions: Map<string, number>) =>
      applyRetention({
        logFolder: folder,
        rawDays: 30,
        clock,
        positions: async () => positions,
        living: async () => new Set<string>(),
        retire: async () => {},
      });
    clock.advance(30 * 24 * 60 * 60_000);
    await retention(new Map([[partition, to]]));
    expect(listDays(folder)).toEqual(['2026-06-01']);
    clock.advance(24 * 60 * 60_000);
    await retention(new Map());
    expect(listDays(folder)).toEqual(['2026-06-01']);
    await retention(new Map([[partition, to]]));
    expect(listDays(folder)).toEqual([]);
  });

  test('a day that is not counted keeps the days after it, so that the log has no gap', async () => {
    const stream = open();
    const dayMs = 24 * 60 * 60_000;
    const counted = new Map<string, number>();
    for (let day = 0; day < 3; day += 1, clock.advance(dayMs)) {
      const { partition, to } = await stream.append(oneClick(day + 1));
      if (day !== 1) counted.set(partition, to);
    }
    clock.advance(40 * dayMs);
    await applyRetention({
      logFolder: folder,
      rawDays: 30,
      clock,
      positions: async () => counted,
      living: async () => new Set<string>(),
      retire: async () => {},
    });
    expect(listDays(folder)).toEqual(['2026-06-02', '2026-06-03']);
  });

  test('half a frame at the end of a log does not keep its day, nor the days after it', async () => {
    const { partition, to } = await open().append(oneClick(1));
    const next = await open().append(oneClick(2));
    truncateSync(join(folder, partition), next.to - 1);
    clock.advance(40 * 24 * 60 * 60_000);
    await applyRetention({
      logFolder: folder,
      rawDays: 30,
      clock,
      positions: async () => new Map([[partition, to]]),
      living: async () => new Set<string>(),
      retire: async () => {},
    });
    expect(listDays(folder)).toEqual([]);
  });
});

describe('export', () => {
  const filter = {
    code: 'abc',
    ownerId: 'acc_1',
    format: 'ndjson',
    from: 0,
    to: Number.MAX_SAFE_INTEGER,
  } as const;
  const all = async (
    code: string,
    format: 'csv' | 'ndjson',
    range = { from: 0, to: Number.MAX_SAFE_INTEGER },
    forgottenBefore = 0,
  ) => {
    let text = '';
    for (
      let cursor: Parameters<typeof exportPart>[2], first = true;
      first || cursor !== undefined;
      first = false
    ) {
      const part = await exportPart(
        openEmbeddedLog(folder),
        { code, ownerId: 'acc_1', format, ...range },
        cursor,
        forgottenBefore,
      );
      text += part.text;
      cursor = part.next;
    }
    return text;
  };

  test('comes in pieces, also for one large frame, and for clicks that look alike', async () => {
    const count = 3_000;
    const clicks = Array.from({ length: count }, () => ({ at: clock.now() }));
    await open().append(sampleBatch(1, clicks));
    await open().append(sampleBatch(count + 1, clicks));
    const first = await exportPart(openEmbeddedLog(folder), filter, undefined, 0);
    expect(first.text.length).toBeLessThan(300 * 1024);
    expect(first.next).toMatchObject({ position: 0 });
    expect((await all('abc', 'ndjson')).trim().split('\n')).toHaveLength(2 * count);
  });

  test('has only the clicks that match all filters', async () => {
    const at = clock.now();
    await open().append(
      sampleBatch(1, [
        { at, country: 'DE', device: 'mobile' },
        { at, country: 'DE', device: 'desktop' },
        { at, country: 'FR', device: 'mobile', kind: 'bot' },
        { at, country: 'DE', device: 'mobile', code: 'other' },
      ]),
    );
    const counted = async (...filters: readonly Filter[]): Promise<number> =>
      (await exportPart(openEmbeddedLog(folder), { ...filter, filters }, undefined, 0)).text.split('\n')
        .length - 1;
    const german = { dimension: 'country', values: ['DE'] } as const;
    expect(await counted({ ...german, isExcluded: false })).toBe(2);
    expect(await counted({ ...german, isExcluded: true })).toBe(1);
    expect(await counted({ dimension: 'bot', values: [''], isExcluded: false })).toBe(2);
    const mobile: Filter = { dimension: 'device', values: ['mobile'], isExcluded: false };
    expect(await counted({ ...german, isExcluded: false }, mobile)).toBe(1);
  });

  test('has each click of the link once, over days and producers, and nothing else', async () => {
    for (const producer of ['one', 'two']) {
      const stream = open(producer);
      for (const sequence of [1, 3]) {
        await stream.append(
          sampleBatch(sequence, [
            { at: clock.now(), visitor: sequence },
            { at: clock.now(), code: 'other' },
          ]),
        );
      }
    }
    clock.advance(24 * 60 * 60_000);
    await open('three').append(oneClick(1));
    const lines = (await all('abc', 'ndjson'))
      .trim()
      .split('\n')
      .map(line => JSON.parse(line));
    expect(lines).toHaveLength(5);
    expect(new Set(lines.map(({ code }) => code))).toEqual(new Set(['abc']));
    const range = { from: samplesStart + 1, to: Number.MAX_SAFE_INTEGER };
    expect((await all('abc', 'ndjson', range)).trim().split('\n')).toHaveLength(1);
    const left = await all('abc', 'ndjson', undefined, samplesStart + 1);
    expect(left.trim().split('\n')).toHaveLength(1);
    expect(await all('nobody', 'ndjson')).toBe('');
  });

  test('a click logged after midnight belongs to the day it happened on', async () => {
    const midnight = Date.parse('2026-06-02T00:00:00Z');
    clock.set(midnight + 100);
    await open().append(sampleBatch(1, [{ at: midnight - 50 }, { at: midnight + 50 }]));
    const lines = async (from: number, to: number) =>
      (await all('abc', 'ndjson', { from, to })).split('\n').length - 1;
    const day = 24 * 60 * 60_000;
    expect([await lines(midnight - day, midnight), await lines(midnight, midnight + day)]).toEqual([1, 1]);
  });

  test('a click that was stored days later is found among those of its day', async () => {
    const stream = open();
    const happenedAt = clock.now();
    clock.advance(5 * 24 * 60 * 60_000);
    for (const [sequence, at] of [
      [1, happenedAt],
      [2, happenedAt + 1],
      [3, clock.now()],
      [4, clock.now() + 1],
    ] as const)
      await stream.append(sampleBatch(sequence, [{ at }]));
    clock.advance(24 * 60 * 60_000);
    await open('two').append(oneClick(1));
    const lines = async (from: number, to: number) =>
      (await all('abc', 'ndjson', { from, to })).split('\n').length - 1;
    expect(await lines(happenedAt, happenedAt + 60_000)).toBe(2);
    expect(await lines(happenedAt + 60_000, clock.now())).toBe(2);
  });

  test('CSV keeps hostile text in its field and out of spreadsheets’ formulas', async () => {
    await open().append(sampleBatch(1, [{ at: clock.now(), browser: '=cmd()', referrer: 'a,"b"\r\nc' }]));
    const [head, ...rest] = (await all('abc', 'csv')).split('\r\n');
    expect(head).toBe(
      'at,code,kind,visitor,country,city,device,browser,os,referrer,userAgent,signal,' +
        'region,language,utmSource,utmMedium,utmCampaign,utmTerm,utmContent,via',
    );
    expect(rest.join('\r\n')).toContain(`,'=cmd(),Linux,"a,""b""\r\nc",UA of =cmd()`);
  });
});
