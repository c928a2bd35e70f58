import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../base/clock.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { exportCoverage, exportHead, exportLine, fieldsOf } from './export.ts';
import { readBatches } from './log.ts';
import { createEmbeddedLog, listDays } from './logs/embedded.ts';
import { openSqliteWarehouse } from './warehouses/sqlite/warehouse.ts';

const batch = sampleBatch(1, [
  {
    at: samplesStart,
    country: 'DE',
    region: 'Bavaria',
    city: 'Munich',
    referrer: 'news.example',
    referrerUrl: 'https://news.example/today',
    language: 'de',
    utmSource: '=newsletter',
    utmMedium: 'email',
    utmCampaign: 'spring, early',
    utmTerm: 'shoes',
    utmContent: 'header',
    via: 'qr',
    browser: 'Firefox',
    os: 'Linux',
    device: 'mobile',
  },
]);

test('an exported click has every dimension, those that were added later at the end', () => {
  expect(exportHead('csv')).toBe(
    'at,code,kind,visitor,country,city,device,browser,os,referrer,userAgent,signal,' +
      'region,language,utmSource,utmMedium,utmCampaign,utmTerm,utmContent,via\r\n',
  );
  expect(exportLine(fieldsOf(batch, 0), 'csv')).toBe(
    `2026-06-01T12:00:00.000Z,abc,human,0000000092ca2f0e,DE,Munich,mobile,Firefox,Linux,` +
      `https://news.example/today,UA of Firefox Linux mobile,none,` +
      `Bavaria,de,'=newsletter,email,"spring, early",shoes,header,qr\r\n`,
  );
});

test('a line of JSON has the same fields', () => {
  const line = exportLine(fieldsOf(batch, 0), 'ndjson');
  expect(Object.keys(JSON.parse(line))).toEqual(exportHead('csv').trim().split(','));
  expect(JSON.parse(line)).toMatchObject({ region: 'Bavaria', utmCampaign: 'spring, early', via: 'qr' });
});

test('an export says since when the log has the clicks, if earlier ones are counted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-clicks-'));
  const clock = new ManualClock(samplesStart);
  const warehouse = openSqliteWarehouse(':memory:');
  const log = createEmbeddedLog({ folder, producer: 'one', clock });
  for (const sequence of [1, 2]) {
    const { partition, from } = await log.append(sampleBatch(sequence, [{ at: clock.now() }]));
    await warehouse.apply(await readBatches(log, partition, from, 1024));
    clock.advance(2 * 24 * 60 * 60_000);
  }
  const range = { from: 0, to: Number.MAX_SAFE_INTEGER, format: 'ndjson' } as const;
  const coverage = (own: { code?: string; from?: number; to?: number } = {}) =>
    exportCoverage(log, warehouse, { code: 'abc', ownerId: 'acc_1', ...range, ...own });
  expect(await coverage()).toBe(0);
  const [first, second] = listDays(folder);
  rmSync(join(folder, first!), { recursive: true });
  const kept = Date.parse(second!);
  expect(await coverage()).toBe(kept);
  expect([await coverage({ from: kept }), await coverage({ code: 'other' })]).toEqual([0, 0]);
  // The only click of the first day is exactly in its middle.
  for (const offMs of [1, 59_000, 10 * 60_000])
    expect([
      await coverage({ from: samplesStart + offMs }),
      await coverage({ from: samplesStart - offMs }),
      await coverage({ to: samplesStart + offMs }),
      await coverage({ to: samplesStart + 1 - offMs, from: samplesStart - 30 * 60_000 }),
    ]).toEqual([0, kept, samplesStart + offMs, 0]);
  // Once only quarter hours are kept, one that the range covers partly may contain missing clicks.
  const plan = { now: clock.now() + 2 * 24 * 60 * 60_000, minutesFrom: kept, rowsMax: 1_000 };
  while ((await warehouse.maintain({ ...plan, singlesFrom: kept })) > 0);
  expect([
    await coverage({ from: samplesStart + 60_000 }),
    await coverage({ from: samplesStart + 15 * 60_000 }),
    await coverage({ from: samplesStart - 60_000 }),
  ]).toEqual([kept, 0, kept]);
  rmSync(join(folder, second!), { recursive: true });
  expect(await coverage({ to: clock.now() })).toBe(clock.now());
  await warehouse.close();
  await log.close();
  rmSync(folder, { recursive: true });
});
