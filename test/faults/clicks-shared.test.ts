/**
 * Several processes on one data folder. Each records and counts its own clicks, all of them give the same answers, a
 * live view in one shows the clicks of the others, and when one is killed, the others count the clicks that it had
 * stored.
 */
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { createClickedLinks, producersIn, settledAt, statsAt } from '../kit/click-account.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { follow, metricOf } from '../kit/follow.ts';
import { LiveView } from '../kit/live-view.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';

const processCount = 4;
const visitsPerProcess = scaled(5_000, 50_000);
const connections = 8;
const liveVisits = 200;

/** Watches in one process, follows the link in the others, and returns how many clicks were shown. */
async function watchElsewhere(processes: readonly TerseProcess[], code: string): Promise<number> {
  const [watched, ...others] = processes;
  const view = await LiveView.open(watched!.url, code);
  let followed = 0;
  const visit = async (): Promise<void> => {
    await follow(others[followed % others.length]!.url, code);
    followed += 1;
  };
  // Clicks from before the view's first read are not shown, so visits continue until one is.
  await until('the first click', async () => {
    await visit();
    return view.shown > 0;
  });
  // From now on it shows every stored click; wait for those that are in flight.
  await Bun.sleep(2_000);
  const before = view.shown;
  for (let count = 0; count < liveVisits; count += 1) await visit();
  await until('the last click', () => view.shown >= before + liveVisits);
  view.close();
  return view.shown - before;
}

test(
  'four processes on one folder count together, show one another’s clicks live, and inherit from one that is killed',
  async () => {
    const dataFolder = temporaryFolder();
    const processes = await Promise.all(
      Array.from({ length: processCount }, () => startTerseProcess({ dataFolder })),
    );
    try {
      const [first] = processes;
      const [liveCode, ...codes] = await createClickedLinks(first!.url, 5);
      const tally = new VisitTally(sampleVisits({ codes }));
      await Promise.all(
        processes.map(({ url }) => sendVisits({ url, visits: tally, connections, count: visitsPerProcess })),
      );
      expect(await watchElsewhere(processes, liveCode!)).toBe(liveVisits);

      const sentBefore = visitsPerProcess * processCount;
      const { totals: before } = await settledAt(first!.url, dataFolder);
      expectSafe(before).toMatchObject({ dropped: 0, missing: 0, duplicates: 0, recorded: before.produced });
      const all = `/api/v1/stats?codes=${codes.join(',')}`;
      const people = tally.answeredCount(kind => kind.isHuman);
      for (const { url } of processes) {
        const stats = await statsAt(url, all);
        expectSafe([stats.totalClicks, stats.botClicks]).toEqual([people, sentBefore - people]);
      }

      // One of them is killed under load, after it has stored earlier clicks.
      const doomed = processes.at(-1)!;
      const stored = () => metricOf(doomed.url, 'terse_clicks_stored_total');
      const storedBefore = await stored();
      await sendVisits({ url: doomed.url, visits: tally, connections, count: visitsPerProcess });
      await until('the visits to be stored', async () => (await stored()) >= storedBefore + visitsPerProcess);
      const answeredBefore = tally.answeredCount();
      const lastLoad = sendVisits({
        url: doomed.url,
        visits: tally,
        connections,
        count: Number.POSITIVE_INFINITY,
      });
      await until('visitors on the line', () => tally.answeredCount() > answeredBefore + connections);
      await doomed.kill();
      await lastLoad;
      expect(tally.faults).toEqual([]);

      const { totals: after } = await settledAt(first!.url, dataFolder, 1);
      expect(producersIn(dataFolder)).toHaveLength(processCount);
      const answered = tally.answeredCount();
      const live = before.produced - sentBefore;
      expectSafe(after.recorded + after.missing + after.dropped).toBe(after.produced);
      expectSafe(after.duplicates).toBe(0);
      expectSafe(after.produced).toBeGreaterThanOrEqual(answered + live);
      expectSafe(after.produced).toBeLessThanOrEqual(answered + tally.unansweredCount() + live);
      // Clicks that it had stored long before the kill are not lost.
      expect(after.recorded).toBeGreaterThanOrEqual(before.recorded + visitsPerProcess);
      const answers = await Promise.all(
        processes.slice(0, -1).map(async ({ url }) => {
          const { totalClicks, botClicks, uniqueVisitors } = await statsAt(url, all);
          return { counted: totalClicks + botClicks, uniqueVisitors };
        }),
      );
      for (const answer of answers) {
        expectSafe(answer).toEqual({
          counted: after.recorded - live,
          uniqueVisitors: answers[0]!.uniqueVisitors,
        });
      }
      report(
        `${processCount} processes: ${sentBefore} visits counted, the same in each; ${liveVisits} of ${liveVisits} ` +
          `clicks of other processes shown live; one killed: ${answered - sentBefore} more visits, ` +
          `${after.recorded - before.recorded} counted, ${after.missing} missing, 0 doubles`,
      );
    } finally {
      await Promise.all(processes.map(each => each.kill()));
      rmSync(dataFolder, { recursive: true, force: true });
    }
  },
  heavyTestMaxMs,
);
