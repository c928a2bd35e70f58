import { beforeAll, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { type SampleClick, samplesStart } from '../../batch-samples.ts';
import type { ProducerHead } from '../../log.ts';
import { openEmbeddedLog } from '../../logs/embedded.ts';
import { createReports, type WarehouseReports } from '../../reports.ts';
import type { ExportCursor, ExportFilter } from '../../stats.ts';
import { grainMs } from '../../warehouse.ts';
import { openWorld, partitionOf, type World } from './fake-clickhouse-world.ts';

describeWithEngine('clickhouse', 'reports from ClickHouse', () => {
  let world: World;
  let heads: ProducerHead[] = [];
  let reports: WarehouseReports;
  beforeAll(async () => {
    world = await openWorld();
    reports = createReports(
      () => world.warehouse,
      async () => ({
        log: openEmbeddedLog('/nonexistent'),
        heads: async () => heads,
        settledUntil: async () => Number.POSITIVE_INFINITY,
        ask: ask => ask(),
      }),
    );
    const clicks: SampleClick[] = [
      // More than a piece holds, many of them in the same millisecond.
      ...Array.from({ length: 2_500 }, (_, n) => ({
        at: samplesStart + Math.floor(n / 700),
        code: 'many',
        visitor: n,
      })),
      {
        at: samplesStart,
        code: 'odd',
        referrer: '=cmd("x")\n',
        browser: 'It’s, "odd"',
        kind: 'preview',
        language: 'de',
        via: 'qr',
      },
      { at: samplesStart + 5, code: 'odd' },
    ];
    await world.warehouse.apply(partitionOf(clicks, 1_300));
  });

  const all: Omit<ExportFilter, 'code'> = {
    ownerId: 'acc_1',
    from: 0,
    to: Number.MAX_SAFE_INTEGER,
    format: 'ndjson',
  };
  async function exported(filter: ExportFilter): Promise<string[]> {
    const parts: string[] = [];
    let cursor: ExportCursor | undefined;
    do {
      const part = await reports.exportPart(filter, cursor);
      parts.push(part.text);
      cursor = part.next;
    } while (cursor !== undefined);
    return parts;
  }

  test('export every click once, in pieces, in the order in which they happened', async () => {
    const parts = await exported({ ...all, code: 'many' });
    expect(parts.length).toBeGreaterThan(2);
    const clicks = parts
      .join('')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line));
    expect(clicks).toHaveLength(2_500);
    expect(new Set(clicks.map(({ visitor }) => visitor)).size).toBe(2_500);
    const times = clicks.map(({ at }) => Date.parse(at));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test('export what is known of a click, in columns that a spreadsheet reads as text', async () => {
    const [csv] = await exported({ ...all, code: 'odd', format: 'csv' });
    const [head, first] = csv!.split('\r\n');
    expect(head).toBe(
      'at,code,kind,visitor,country,city,device,browser,os,referrer,userAgent,signal,region,language,utmSource,utmMedium,utmCampaign,utmTerm,utmContent,via',
    );
    expect(first).toBe(
      `${new Date(samplesStart).toISOString()},odd,preview,0000000092ca2f0e,DE,,desktop,"It’s, ""odd""",Linux,"'=cmd(""x"")\n","UA of It’s, ""odd""",none,,de,,,,,,qr`,
    );
  });

  test('export only the clicks that meet all filters', async () => {
    const filters = [{ dimension: 'bot', values: ['preview'], isExcluded: false }] as const;
    expect((await exported({ ...all, code: 'odd', filters })).join('')).toContain('"kind":"preview"');
    const none = [
      { ...filters[0], isExcluded: true },
      { dimension: 'via', values: ['qr'], isExcluded: false },
    ] as const;
    expect((await exported({ ...all, code: 'odd', filters: none })).join('')).toBe('');
  });

  test('export a range that is half open', async () => {
    const lines = await exported({ ...all, code: 'odd', from: samplesStart, to: samplesStart + 5 });
    expect(lines.join('').trim().split('\n')).toHaveLength(1);
  });

  test('export nothing that was forgotten', async () => {
    await world.warehouse.forget('odd', samplesStart + 1);
    expect((await exported({ ...all, code: 'odd' })).join('').trim().split('\n')).toHaveLength(1);
  });

  test('give totals in the order in which they were asked for', async () => {
    const totals = await reports.totals(['nobody', 'many'].map(code => ({ code, ownerId: 'acc_1' })));
    expect(totals).toEqual([
      { clicks: 0, bots: 0, suspicious: 0, lastClickAt: null },
      { clicks: 2_500, bots: 0, suspicious: 0, lastClickAt: samplesStart + 3 },
    ]);
    expect(await reports.totals([])).toEqual([]);
  });

  test('give stats of a link', async () => {
    const stats = await reports.stats({
      scopes: [{ kind: 'link', code: 'many', ownerId: 'acc_1' }],
      from: samplesStart - grainMs.day,
      to: samplesStart + grainMs.day,
      filters: [],
      interval: 'hour',
      timeZone: 'UTC',
      now: samplesStart + 60_000,
    });
    expect(stats).toMatchObject({ totalClicks: 2_500, clicks24h: 2_500, lastClickAt: samplesStart + 3 });
    expect(stats.series).toHaveLength(48);
    expect(stats.dimensions.browser).toEqual([{ value: 'Firefox', clicks: 2_500 }]);
  });

  test('account for every click that was noted', async () => {
    heads = [
      { producer: 'host', sequence: 2_510, lastClickAt: samplesStart, storedUntil: 0, alive: false },
      { producer: 'new', sequence: 4, lastClickAt: samplesStart, storedUntil: 0, alive: true },
    ];
    const { totals, hours, drift } = await reports.reconcile(
      samplesStart - grainMs.day,
      samplesStart + grainMs.day,
    );
    expect(totals).toEqual({
      produced: 2_514,
      recorded: 2_502,
      dropped: 0,
      duplicates: 0,
      missing: 8,
      pending: 4,
      settling: true,
    });
    expect(hours).toHaveLength(1);
    expect(drift).toBeCloseTo(8 / 2_510);
  });
});
