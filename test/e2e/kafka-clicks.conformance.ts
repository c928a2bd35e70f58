/**
 * Clicks through Kafka, with each role in a separate process: recorded by one, counted by another, queried and
 * streamed by a third. Every question about clicks is answered as it is without Kafka, wherever they are counted.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { askWhile, createClickedLinks, reconcileAt, statsAt } from '../kit/click-account.ts';
import { callerOf } from '../kit/client.ts';
import { runTerse } from '../kit/command-line.ts';
import { edgeLogOf } from '../kit/edge-log.ts';
import { sharedKafka } from '../kit/engines/kafka.ts';
import { metricOf } from '../kit/follow.ts';
import { clicksInKafka, countedAt } from '../kit/kafka-account.ts';
import { LiveView } from '../kit/live-view.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { type SampleVisit, sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';

const visitCount = 3_000;
const linkCount = 5;
const dayMs = 24 * 60 * 60_000;

interface ConformanceOptions {
  /** Leaves out tests that do not depend on the warehouse: what reaches Kafka, and what is read from it directly. */
  readonly isOnlyCounting?: boolean;
}

/** `statsUrl` names where clicks are counted. */
export function kafkaClicksConformance(
  statsUrl: () => Promise<string>,
  { isOnlyCounting = false }: ConformanceOptions = {},
): void {
  const testOfKafka = isOnlyCounting ? () => {} : test;
  let streamUrl: string;
  let settings: Readonly<Record<string, string>>;
  let redirect: TerseProcess;
  let api: TerseProcess;
  let worker: TerseProcess;
  let tally: VisitTally;
  let codes: string[];

  beforeAll(async () => {
    streamUrl = (await sharedKafka()).freshTopicUrl();
    settings = { TERSE_STREAM: streamUrl, TERSE_STATS: await statsUrl() };
    const dataFolder = temporaryFolder();
    const start = (roles: string) =>
      startTerseProcess({ dataFolder, env: { ...settings, TERSE_ROLES: roles } });
    [api, redirect, worker] = [await start('api'), await start('redirect'), await start('worker')];
    codes = await createClickedLinks(api.url, linkCount);
    tally = new VisitTally(sampleVisits({ codes }));
  });
  afterAll(async () => {
    for (const terse of [redirect, worker, api]) await terse?.stop();
  });

  const visit = (count: number) => sendVisits({ url: redirect.url, visits: tally, connections: 8, count });
  const answered = (which: (kind: SampleVisit) => boolean) =>
    tally.answeredCount(kind => which(kind as SampleVisit));
  const exported = async (code: string): Promise<string> =>
    (await callerOf(api.url)('GET', `/api/v1/links/${code}/clicks`)).body;
  const expectExactCounts = async () => {
    for (const code of codes) {
      const stats = await statsAt(api.url, `/api/v1/links/${code}/stats`);
      expect([stats.totalClicks, stats.botClicks]).toEqual([
        answered(kind => kind.code === code && kind.isHuman),
        answered(kind => kind.code === code && !kind.isHuman),
      ]);
    }
  };

  test('every click that was sent is counted, link by link, and accounted for', async () => {
    const sent = async () => {
      await visit(visitCount / 2);
      // Reports come every few seconds, and now the next one is behind what is counted meanwhile.
      await until('the first click', async () => (await reconcileAt(api.url)).totals.produced > 0);
      await visit(visitCount / 2);
      await countedAt(api.url, visitCount);
    };
    const asked = await askWhile(api.url, new Date(Date.now() - dayMs).toISOString(), sent());
    expect(asked.faults).toEqual([]);
    expect(asked.settling).toBeGreaterThan(0);
    expect(tally.faults).toEqual([]);
    const { totals, drift } = await countedAt(api.url, visitCount);
    expect(totals).toMatchObject({ recorded: visitCount, dropped: 0, duplicates: 0, missing: 0 });
    expect(drift).toBe(0);
    await until('the counts to settle', async () => !(await reconcileAt(api.url)).totals.settling);
    expect((await reconcileAt(api.url)).totals.produced).toBe(visitCount);
    expect(await clicksInKafka(streamUrl)).toBe(visitCount);
    await expectExactCounts();
  });

  test('metrics show which process counts, how far behind it is, and that no click waits', async () => {
    // Updated periodically, so a scrape may show a slightly older state.
    await until(
      'all clicks',
      async () => (await metricOf(worker.url, 'terse_clicks_counted_total')) === visitCount,
    );
    await until('no lag', async () => (await metricOf(worker.url, 'terse_clicks_lag_messages')) === 0);
    expect(await metricOf(worker.url, 'terse_clicks_partitions')).toBe(4);
    expect(await metricOf(worker.url, 'terse_clicks_poisoned_total')).toBe(0);
    expect(await metricOf(redirect.url, 'terse_clicks_stored_total')).toBe(visitCount);
    expect(await metricOf(redirect.url, 'terse_clicks_spilled_bytes')).toBe(0);
    await expect(metricOf(api.url, 'terse_clicks_partitions')).rejects.toThrow('there is no metric');
  });

  test('single clicks are exported as they were recorded', async () => {
    const [code] = codes;
    const lines = (await exported(code!)).trimEnd().split('\n');
    expect(lines).toHaveLength(answered(kind => kind.code === code));
    expect(lines.every(line => JSON.parse(line).code === code)).toBe(true);
  });

  testOfKafka(
    'a live view in a process that does not redirect shows the clicks of its link and of no other',
    async () => {
      const [code] = codes;
      const view = await LiveView.open(api.url, code!);
      // The live view has started when the first visit is seen.
      await until('the counts', async () => {
        await visit(tally.kinds.length);
        return view.shown > 0;
      });
      expect(view.clicks.every(click => click.code === code)).toBe(true);
      view.close();
    },
  );

  test('a recount of everything from Kafka changes no number, and a deleted click stays deleted', async () => {
    await countedAt(api.url, tally.answeredCount());
    await expectExactCounts();
    const code = codes.at(-1)!;
    const ofLink = async () => (await statsAt(api.url, `/api/v1/links/${code}/stats`)).totalClicks;
    expect((await callerOf(api.url)('DELETE', `/api/v1/links/${code}/clicks`)).status).toBe(204);
    expect(await ofLink()).toBe(0);
    expect(await exported(code)).toBe('');
    expect((await callerOf(api.url)('POST', '/api/v1/reconcile')).status).toBeLessThan(300);
    expect(await ofLink()).toBe(0);
    codes.pop();
    await expectExactCounts();
    // The counter finds out where the counts stand now, and continues.
    const before = tally.answeredCount();
    await visit(500);
    await countedAt(api.url, before + 500);
    await expectExactCounts();
  });

  test('a stop loses nothing: the next worker counts the clicks that the last one had not', async () => {
    expect(await worker.stop()).toBe(0);
    await visit(500);
    expect(await redirect.stop()).toBe(0);
    const { dataFolder } = api;
    worker = await startTerseProcess({ dataFolder, env: { ...settings, TERSE_ROLES: 'worker' } });
    redirect = await startTerseProcess({ dataFolder, env: { ...settings, TERSE_ROLES: 'redirect' } });
    const { totals } = await countedAt(api.url, tally.answeredCount());
    expect(totals).toMatchObject({ recorded: tally.answeredCount(), dropped: 0, missing: 0 });
    await expectExactCounts();
  });

  testOfKafka(
    'clicks at an edge are counted once from its log, also when it is unknown which were already sent',
    async () => {
      const [code] = await createClickedLinks(api.url, 1);
      const { dataFolder } = api;
      const [log, logged] = [join(dataFolder, 'edge.log'), 9_000];
      const imported = async () => {
        const env = { ...settings, TERSE_DATA: dataFolder };
        const { stdout, stderr } = await runTerse(['clicks', 'import', log], { env });
        return `${/ ([\d,]+ clicks imported)/.exec(stdout)?.[1]}${stderr}`;
      };
      const at = Date.now() - logged;
      const whole = edgeLogOf({ code: code!, count: logged, at });
      // Cut within a line, like a log that is being written.
      const begun = edgeLogOf({ code: code!, count: 4_500, at }).slice(0, -20);
      await Bun.write(log, begun);
      expect(await imported()).toBe('4,499 clicks imported');
      await Bun.write(log, whole);
      expect(await imported()).toBe('4,501 clicks imported');
      expect(await imported()).toBe('0 clicks imported');
      rmSync(join(dataFolder, 'edge'), { recursive: true, force: true });
      expect(await imported()).toBe('9,000 clicks imported');
      const before = tally.answeredCount();
      await visit(500);
      await countedAt(api.url, before + 500);
      await until(
        'the logged clicks',
        async () => (await statsAt(api.url, `/api/v1/links/${code}/stats`)).totalClicks >= logged,
      );
      // Clicks that were sent twice are before the visits in the stream, so they would be counted by now.
      expect((await statsAt(api.url, `/api/v1/links/${code}/stats`)).totalClicks).toBe(logged);
    },
  );
}
