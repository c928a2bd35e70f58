/**
 * Clicks through Kafka, with each role in a process of its own: noted by one, counted by another, shown and told by a
 * third. Everything that can be asked about clicks is answered as it is without Kafka.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createClickedLinks, reconcileAt, statsAt } from '../kit/click-account.ts';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../kit/engines/kafka.ts';
import { clicksInKafka, countedAt } from '../kit/kafka-account.ts';
import { LiveView } from '../kit/live-view.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { type SampleVisit, sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';

const visitCount = 3_000;
const linkCount = 5;
const waitMaxMs = 60_000;

describeWithEngine('kafka', 'clicks through Kafka', () => {
  let streamUrl: string;
  let redirect: TerseProcess;
  let api: TerseProcess;
  let worker: TerseProcess;
  let tally: VisitTally;
  let codes: string[];

  beforeAll(async () => {
    streamUrl = (await sharedKafka()).freshTopicUrl();
    const dataFolder = temporaryFolder();
    const start = (roles: string) =>
      startTerseProcess({ dataFolder, env: { TERSE_STREAM: streamUrl, TERSE_ROLES: roles } });
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
  async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
    for (const startedMs = performance.now(); !(await isSo()); await Bun.sleep(100)) {
      if (performance.now() - startedMs > waitMaxMs) throw new Error('it did not come to that');
    }
  }
  async function metric(terse: TerseProcess, name: string): Promise<number> {
    const { body } = await callerOf(terse.url)('GET', '/metrics');
    const line = String(body)
      .split('\n')
      .find(each => each.startsWith(`${name} `));
    return Number(line?.slice(name.length));
  }
  const expectExactCounts = async () => {
    for (const code of codes) {
      const stats = await statsAt(api.url, `/api/v1/links/${code}/stats`);
      expect([stats.totalClicks, stats.botClicks]).toEqual([
        answered(kind => kind.code === code && kind.isHuman),
        answered(kind => kind.code === code && !kind.isHuman),
      ]);
    }
  };

  test('what was sent is what is counted, link by link, and every click is accounted for', async () => {
    await visit(visitCount);
    expect(tally.faults).toEqual([]);
    const { totals, drift } = await countedAt(api.url, visitCount);
    expect(totals).toMatchObject({ recorded: visitCount, dropped: 0, duplicates: 0, missing: 0 });
    expect(drift).toBe(0);
    await until(async () => (await reconcileAt(api.url)).totals.produced === visitCount);
    expect(await clicksInKafka(streamUrl)).toBe(visitCount);
    await expectExactCounts();
  });

  test('metrics tell who counts, how far behind, and that nothing waits', async () => {
    await until(async () => (await metric(worker, 'terse_clicks_behind_messages')) === 0);
    expect(await metric(worker, 'terse_clicks_partitions')).toBe(4);
    expect(await metric(worker, 'terse_clicks_counted_total')).toBe(visitCount);
    expect(await metric(worker, 'terse_clicks_poisoned_total')).toBe(0);
    expect(await metric(redirect, 'terse_clicks_stored_total')).toBe(visitCount);
    expect(await metric(redirect, 'terse_clicks_spilled_bytes')).toBe(0);
    expect(await metric(api, 'terse_clicks_partitions')).toBeNaN();
  });

  test('single clicks are exported as they were noted', async () => {
    const [code] = codes;
    const { body } = await callerOf(api.url)('GET', `/api/v1/links/${code}/clicks`);
    const lines = String(body).trimEnd().split('\n');
    expect(lines).toHaveLength(answered(kind => kind.code === code));
    expect(lines.every(line => JSON.parse(line).code === code)).toBe(true);
  });

  test('whoever watches a link where it is not followed sees its clicks, and those of no other', async () => {
    const [code] = codes;
    const view = await LiveView.open(api.url, code!);
    // Watching has begun when the first visit is seen.
    await until(async () => {
      await visit(tally.kinds.length);
      return view.shown > 0;
    });
    expect(view.clicks.every(click => click.code === code)).toBe(true);
    view.close();
  });

  test('counting everything anew from Kafka changes no number, and a deleted click stays deleted', async () => {
    await countedAt(api.url, tally.answeredCount());
    await expectExactCounts();
    const code = codes.at(-1)!;
    const ofLink = async () => (await statsAt(api.url, `/api/v1/links/${code}/stats`)).totalClicks;
    expect((await callerOf(api.url)('DELETE', `/api/v1/links/${code}/clicks`)).status).toBe(204);
    expect(await ofLink()).toBe(0);
    expect((await callerOf(api.url)('POST', '/api/v1/reconcile')).status).toBeLessThan(300);
    expect(await ofLink()).toBe(0);
    codes.pop();
    await expectExactCounts();
    // The counter finds out where the counts stand now, and goes on.
    const before = tally.answeredCount();
    await visit(500);
    await countedAt(api.url, before + 500);
    await expectExactCounts();
  });

  test('a stop leaves nothing behind: the next worker counts what the last one had not', async () => {
    expect(await worker.stop()).toBe(0);
    await visit(500);
    expect(await redirect.stop()).toBe(0);
    const env = { TERSE_STREAM: streamUrl, TERSE_ROLES: 'worker' };
    worker = await startTerseProcess({ dataFolder: api.dataFolder, env });
    redirect = await startTerseProcess({
      dataFolder: api.dataFolder,
      env: { ...env, TERSE_ROLES: 'redirect' },
    });
    const { totals } = await countedAt(api.url, tally.answeredCount());
    expect(totals).toMatchObject({ recorded: tally.answeredCount(), dropped: 0, missing: 0 });
    await expectExactCounts();
  });
});
