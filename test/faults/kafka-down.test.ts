/**
 * Kafka is down for longer than clicks are held in memory. Visitors are still redirected and do not wait; their clicks
 * wait on disk, where they survive a stop or a kill, and are counted once Kafka is back.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { createClickedLinks, reconcileAt, statsAt } from '../kit/click-account.ts';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { type KafkaEngine, startKafka } from '../kit/engines/kafka.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { clicksInKafka, countedAt } from '../kit/kafka-account.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';

const spilledMin = scaled(2_000, 500_000);
const downMs = scaled(3_000, 300_000);
const connections = 8;
/** How long visits are measured before the outage, for comparison. */
const beforeMs = scaled(1_000, 60_000);
const waitMaxMs = scaled(120_000, 900_000);

function latencyText(tookMs: readonly number[]): string {
  const sorted = [...tookMs].sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)]!.toFixed(2);
  return `p50 ${at(0.5)}, p99 ${at(0.99)} ms`;
}

describeWithEngine(
  'kafka',
  'while Kafka is down',
  () => {
    let engine: KafkaEngine;
    let dataFolder: string;
    let streamUrl: string;
    let terse: TerseProcess;

    beforeAll(async () => {
      engine = await startKafka();
    });
    afterAll(() => engine?.stop());
    beforeEach(() => {
      dataFolder = temporaryFolder();
      streamUrl = engine.freshTopicUrl();
    });
    afterEach(async () => {
      await terse.kill();
      rmSync(dataFolder, { recursive: true, force: true });
    });

    async function start(): Promise<void> {
      // Failures are expected here, so nothing is logged.
      terse = await startTerseProcess({
        dataFolder,
        env: { TERSE_STREAM: streamUrl, TERSE_LOG_LEVEL: 'silent', TERSE_CLICK_SPILL_MB: '4096' },
      });
    }
    async function metric(name: string): Promise<number> {
      const { body } = await callerOf(terse.url)('GET', '/metrics');
      const line = String(body)
        .split('\n')
        .find(each => each.startsWith(`${name} `));
      return Number(line?.slice(name.length));
    }
    /** Sends visits until the condition holds, and checks that visitors do not notice the outage. */
    async function visitUntil(tally: VisitTally, what: string, isSo: () => Promise<boolean>): Promise<void> {
      let ended = false;
      const load = (async () => {
        // Slower than Kafka accepts clicks, so that the spill is emptied during the visits.
        for (; !ended; await Bun.sleep(40)) {
          await sendVisits({ url: terse.url, visits: tally, connections, count: 100 });
        }
      })();
      try {
        await until(what, isSo, { maxMs: waitMaxMs });
      } finally {
        ended = true;
        await load;
      }
      expect(tally.faults).toEqual([]);
      expect(tally.unansweredCount()).toBe(0);
    }
    const isSpilling = async () => (await metric('terse_clicks_spilled_total')) >= spilledMin;
    const isStored = async () => (await metric('terse_clicks_spilled_bytes')) === 0;
    const tallyOfNewLinks = async () =>
      new VisitTally(sampleVisits({ codes: await createClickedLinks(terse.url, 4) }));

    const absences = {
      'is killed': [() => engine.kill(), () => engine.restart()],
      'accepts connections and answers nothing': [async () => engine.pause(), async () => engine.resume()],
    } as const;

    for (const [name, [leave, comeBack]] of Object.entries(absences)) {
      test(
        `because it ${name}: every visitor is redirected, clicks are spilled, and all of them are counted afterwards`,
        async () => {
          await start();
          const tally = await tallyOfNewLinks();
          const startedMs = performance.now();
          await visitUntil(tally, 'time passes', async () => performance.now() - startedMs >= beforeMs);
          await countedAt(terse.url, tally.answeredCount());
          const before = tally.tookMs.splice(0);
          await leave();
          const leftMs = performance.now();
          await visitUntil(
            tally,
            'clicks are spilled',
            async () => performance.now() - leftMs >= downMs && (await isSpilling()),
          );
          const meanwhile = tally.tookMs.splice(0);
          await comeBack();
          await visitUntil(tally, 'what was spilled is in Kafka', isStored);
          const sent = tally.answeredCount();
          const { totals } = await countedAt(terse.url, sent);
          expectSafe(totals).toMatchObject({ recorded: sent, dropped: 0, missing: 0 });
          expectSafe(await clicksInKafka(streamUrl)).toBe(sent);
          const stats = await statsAt(terse.url, '/api/v1/stats');
          expectSafe(stats.totalClicks).toBe(tally.answeredCount(kind => kind.isHuman));
          report(
            `Kafka ${name}: ${sent} visits, none failed, ${await metric('terse_clicks_spilled_total')} clicks spilled, ` +
              `all counted, ${totals.duplicates} of them met twice; ` +
              `redirects took ${latencyText(before)} before, ${latencyText(meanwhile)} meanwhile`,
          );
        },
        heavyTestMaxMs,
      );
    }

    test(
      'a Terse that is started meanwhile serves, and what it spilled outlives its kill',
      async () => {
        await start();
        const tally = await tallyOfNewLinks();
        await engine.kill();
        await terse.kill();
        await start();
        await visitUntil(tally, 'clicks are spilled', isSpilling);
        const spilled = await metric('terse_clicks_spilled_total');
        const noted = tally.answeredCount();
        await terse.kill();
        await engine.restart();
        await start();
        const { totals } = await countedAt(terse.url, spilled);
        expectSafe(totals.duplicates).toBe(0);
        // Clicks of the last moments before the kill were in memory; the next process reports how many are lost.
        await until('every click is accounted for', async () => {
          const { recorded, missing, produced } = (await reconcileAt(terse.url)).totals;
          return produced === noted && recorded + missing === noted;
        });
        const after = (await reconcileAt(terse.url)).totals;
        report(
          `killed with Kafka down: of ${noted} clicks ${spilled} were known to be spilled, ` +
            `${after.recorded} counted by the next process, ${after.missing} missing, 0 counted twice`,
        );
      },
      heavyTestMaxMs,
    );
  },
  { own: true },
);
