/**
 * ClickHouse is down: at the start, later, hanging, or back with an empty disk. Visitors and owners do not notice,
 * requests for statistics are answered as unavailable, and counting resumes where it stopped.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, rmSync } from 'node:fs';
import { createClickedLinks, statsAt } from '../kit/click-account.ts';
import { callerOf } from '../kit/client.ts';
import { type ClickHouseEngine, startClickHouse } from '../kit/engines/clickhouse.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../kit/engines/kafka.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { countedAt } from '../kit/kafka-account.ts';
import { LiveView } from '../kit/live-view.ts';
import { heavyTestMaxMs } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';

const visitCount = 500;

describeWithEngine('kafka', 'clicks through Kafka', () =>
  describeWithEngine(
    'clickhouse',
    'while ClickHouse is down',
    () => {
      let engine: ClickHouseEngine;
      let streamUrl: string;
      let statsUrl: string;
      let terse: TerseProcess;
      let tally: VisitTally;
      let code: string;

      beforeAll(async () => {
        engine = await startClickHouse();
      });
      afterAll(() => engine?.stop());
      beforeEach(async () => {
        streamUrl = (await sharedKafka()).freshTopicUrl();
        statsUrl = engine.freshDatabaseUrl();
      });
      afterEach(() => terse?.stop());

      async function start(): Promise<void> {
        // Failures are expected here, so nothing is logged.
        const env = { TERSE_STREAM: streamUrl, TERSE_STATS: statsUrl, TERSE_LOG_LEVEL: 'silent' };
        terse = await startTerseProcess({ env });
        const codes = await createClickedLinks(terse.url, 3);
        code = codes[0]!;
        tally = new VisitTally(sampleVisits({ codes }));
      }
      async function visit(): Promise<void> {
        await sendVisits({ url: terse.url, visits: tally, connections: 8, count: visitCount });
        expect([tally.faults, tally.unansweredCount()]).toEqual([[], 0]);
      }
      const ask = (method: string, path: string) => callerOf(terse.url)(method, path);
      /** Checks that everything that needs counts is unavailable, within the time that a query may take. */
      async function expectNoNumbers(): Promise<void> {
        const questions = [
          ['GET', `/api/v1/links/${code}/stats`],
          ['GET', '/api/v1/stats'],
          ['GET', `/api/v1/stats/links?codes=${code}`],
          ['GET', `/api/v1/links/${code}/clicks`],
          ['GET', '/api/v1/reconcile'],
          ['DELETE', `/api/v1/links/${code}/clicks`],
        ] as const;
        const answers = await Promise.all(questions.map(([method, path]) => ask(method, path)));
        for (const answer of answers) expectProblem(answer, 503, 'stats_unavailable');
      }
      async function expectAllCounted(): Promise<void> {
        const people = tally.answeredCount(kind => kind.isHuman);
        await until('all clicks are counted', async () => {
          const { status, body } = await ask('GET', '/api/v1/stats');
          return status === 200 && body.totalClicks >= people;
        });
        const { totalClicks, botClicks } = await statsAt(terse.url, '/api/v1/stats');
        expectSafe([totalClicks, botClicks]).toEqual([people, tally.answeredCount() - people]);
      }

      test(
        'from the start: Terse is ready, redirects, makes links and shows clicks live; numbers come when it comes',
        async () => {
          await engine.kill();
          await start();
          expect((await ask('GET', '/health/ready')).status).toBe(200);
          const view = await LiveView.open(terse.url, code);
          await visit();
          await until('a click is shown', () => view.shown > 0);
          view.close();
          await expectNoNumbers();
          await engine.restart();
          await expectAllCounted();
        },
        heavyTestMaxMs,
      );

      test(
        'because it hangs, then is killed, then comes back with an empty disk: all that Kafka keeps is counted',
        async () => {
          await start();
          await visit();
          await expectAllCounted();
          engine.pause();
          await visit();
          await expectNoNumbers();
          await engine.kill();
          await visit();
          await engine.restart();
          await expectAllCounted();
          await engine.kill();
          rmSync(engine.folder, { recursive: true, force: true });
          mkdirSync(engine.folder);
          await engine.restart();
          await visit();
          await expectAllCounted();
          const { totals } = await countedAt(terse.url, tally.answeredCount());
          expectSafe(totals).toMatchObject({ recorded: tally.answeredCount(), dropped: 0, missing: 0 });
        },
        heavyTestMaxMs,
      );
    },
    { own: true },
  ),
);
