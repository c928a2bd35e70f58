/**
 * Compares followed links with counted clicks. After graceful stops, Terse has counted exactly the visits that were
 * sent. After kills, it never counts more, and reports every click that it does not count as lost.
 *
 * A visit that was sent and not answered before a kill may have been recorded or not; there is at most one per
 * connection. Answered visits were recorded.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { announcedRandom } from '../kit/announced-random.ts';
import { createClickedLinks, producersIn, reconcileAt, settledAt, statsAt } from '../kit/click-account.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { rateOf, report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { type SampleVisit, sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';

const visitCount = scaled(20_000, 200_000);
const linkCount = 8;
const connections = 32;
const killCount = scaled(2, 20);
const killAfterMinMs = scaled(400, 1_000);
const killAfterMaxMs = scaled(1_000, 3_000);
/** Clicks are stored at least this often, so a kill loses at most the clicks of this time. */
const flushMaxMs = 1_000;
/** Not enough to be stored because of their number. */
const fewVisits = 500;

let dataFolder: string;

beforeEach(() => {
  dataFolder = temporaryFolder();
});

afterEach(() => {
  rmSync(dataFolder, { recursive: true, force: true });
});

type Which = (kind: SampleVisit) => boolean;
const countBy = (tally: VisitTally, which: Which): number =>
  tally.answeredCount(kind => which(kind as SampleVisit));

/** The expected list of a trait, for people's visits. */
function frequencies(tally: VisitTally, which: Which, traitOf: (kind: SampleVisit) => string) {
  const clicks = new Map<string, number>();
  for (const [index, kind] of (tally.kinds as SampleVisit[]).entries()) {
    const value = traitOf(kind);
    if (kind.isHuman && which(kind)) clicks.set(value, (clicks.get(value) ?? 0) + tally.answered[index]!);
  }
  return [...clicks]
    .map(([value, count]) => ({ value, clicks: count }))
    .sort((a, b) => b.clicks - a.clicks || (a.value < b.value ? -1 : 1));
}

test(
  'redirects at full speed and then a stop: what was sent is what is counted, link by link, people and machines apart',
  async () => {
    const terse = await startTerseProcess({ dataFolder });
    const codes = await createClickedLinks(terse.url, linkCount);
    const tally = new VisitTally(sampleVisits({ codes }));
    const startedMs = performance.now();
    await sendVisits({ url: terse.url, visits: tally, connections, count: visitCount });
    const elapsedMs = performance.now() - startedMs;
    expect(await terse.stop()).toBe(0);
    expect(tally.faults).toEqual([]);
    expect(tally.answeredCount()).toBe(visitCount);

    const after = await startTerseProcess({ dataFolder });
    try {
      const { totals, drift } = await reconcileAt(after.url);
      expectSafe(totals).toEqual({
        produced: visitCount,
        recorded: visitCount,
        dropped: 0,
        duplicates: 0,
        missing: 0,
        pending: 0,
        settling: false,
      });
      expectSafe(drift).toBe(0);
      const scopes: [string, Which][] = [
        ...codes.map((code): [string, Which] => [`/api/v1/links/${code}/stats`, kind => kind.code === code]),
        ['/api/v1/stats', () => true],
        ['/api/v1/stats?tag=odd', kind => codes.indexOf(kind.code) % 2 === 1],
      ];
      for (const [path, which] of scopes) {
        const stats = await statsAt(after.url, path);
        expectSafe([stats.totalClicks, stats.botClicks, stats.clicks24h]).toEqual([
          countBy(tally, kind => which(kind) && kind.isHuman),
          countBy(tally, kind => which(kind) && !kind.isHuman),
          countBy(tally, kind => which(kind) && kind.isHuman),
        ]);
        expect(stats.browsers).toEqual(frequencies(tally, which, kind => kind.agent.browser).slice(0, 20));
        expect(stats.os).toEqual(frequencies(tally, which, kind => kind.agent.os));
        expect(stats.devices).toEqual(frequencies(tally, which, kind => kind.agent.device));
        expect(stats.topReferrers).toEqual(frequencies(tally, which, kind => kind.domain));
        // All come from one address, so a visitor is a user agent.
        const agents = (tally.kinds as SampleVisit[]).filter(kind => which(kind) && kind.isHuman);
        expect(stats.uniqueVisitors).toBe(new Set(agents.map(({ agent }) => agent.userAgent)).size);
      }
    } finally {
      await after.stop();
    }
    report(`clicks sent ${rateOf(visitCount, elapsedMs)}, then a stop: all of them counted, 0 missing`);
  },
  heavyTestMaxMs,
);

interface Round {
  readonly producer: string;
  readonly answered: number;
  readonly unanswered: number;
  /** Answered in the last moments before the kill. */
  readonly answeredLately: number;
  /** When the answers came, counted back from the kill. */
  readonly answersBeforeKillMs: readonly number[];
}

/** Sends load until the kill. */
async function visitUntilKilled(terse: TerseProcess, tally: VisitTally, killAfterMs: number): Promise<Round> {
  const producer = producersIn(dataFolder).sort().at(-1)!;
  const before = { answered: tally.answeredCount(), unanswered: tally.unansweredCount() };
  const load = sendVisits({ url: terse.url, visits: tally, connections, count: Number.POSITIVE_INFINITY });
  await Bun.sleep(killAfterMs);
  await terse.kill();
  await load;
  const killedAtMs = performance.now();
  const answered = tally.answeredCount() - before.answered;
  const answersBeforeKillMs = tally.answeredAtMs.slice(-answered).map(atMs => killedAtMs - atMs);
  return {
    producer,
    answered,
    unanswered: tally.unansweredCount() - before.unanswered,
    answeredLately: answersBeforeKillMs.filter(ageMs => ageMs <= flushMaxMs).length,
    answersBeforeKillMs,
  };
}

test(
  'a kill takes nothing that came longer ago than clicks wait to be stored, however few they were',
  async () => {
    const killed = await startTerseProcess({ dataFolder });
    const codes = await createClickedLinks(killed.url, linkCount);
    const tally = new VisitTally(sampleVisits({ codes }));
    await sendVisits({ url: killed.url, visits: tally, connections, count: fewVisits });
    await Bun.sleep(flushMaxMs);
    await killed.kill();
    const terse = await startTerseProcess({ dataFolder });
    try {
      const { totals } = await settledAt(terse.url, dataFolder, 1);
      expect(totals).toMatchObject({ produced: fewVisits, recorded: fewVisits, dropped: 0, missing: 0 });
    } finally {
      await terse.kill();
    }
  },
  heavyTestMaxMs,
);

test(
  'killed again and again: never counted more than sent, and whatever is not counted is reported as lost',
  async () => {
    const random = announcedRandom('clicks and kill -9');
    const rounds: Round[] = [];
    let terse = await startTerseProcess({ dataFolder });
    try {
      const codes = await createClickedLinks(terse.url, linkCount);
      const tally = new VisitTally(sampleVisits({ codes }));
      for (let kill = 0; kill < killCount; kill += 1) {
        const killAfterMs = killAfterMinMs + random.float() * (killAfterMaxMs - killAfterMinMs);
        rounds.push(await visitUntilKilled(terse, tally, killAfterMs));
        terse = await startTerseProcess({ dataFolder });
      }
      expect(tally.faults).toEqual([]);
      const { totals, producers } = await settledAt(terse.url, dataFolder, killCount);

      const losses: string[] = [];
      for (const { producer, answered, unanswered, answeredLately, answersBeforeKillMs } of rounds) {
        const account = producers.find(each => each.producer === producer)!;
        expectSafe(account.produced).toBeGreaterThanOrEqual(answered);
        expectSafe(account.produced).toBeLessThanOrEqual(answered + unanswered);
        expectSafe(account.recorded + account.dropped + account.missing).toBe(account.produced);
        expect(account.missing).toBeLessThanOrEqual(answeredLately + unanswered);
        const reachesBackMs = answersBeforeKillMs.at(-account.missing) ?? 0;
        losses.push(`${account.missing} (${Math.round(reachesBackMs)} ms)`);
      }
      expectSafe(totals.duplicates).toBe(0);

      const all = await statsAt(terse.url, '/api/v1/stats');
      expectSafe(all.totalClicks + all.botClicks).toBe(totals.recorded);
      for (const code of codes) {
        const stats = await statsAt(terse.url, `/api/v1/links/${code}/stats`);
        for (const [counted, isHuman] of [
          [stats.totalClicks, true],
          [stats.botClicks, false],
        ]) {
          const which = (kind: { code: string; isHuman: boolean }) =>
            kind.code === code && kind.isHuman === isHuman;
          expectSafe(counted).toBeLessThanOrEqual(tally.answeredCount(which) + tally.unansweredCount(which));
        }
      }
      const sent = tally.answeredCount() + tally.unansweredCount();
      const lost = totals.dropped + totals.missing;
      // The other visits were sent and never answered, and the process died before it recorded them.
      const unnoted = sent - totals.recorded - lost;
      expectSafe(unnoted).toBeGreaterThanOrEqual(0);
      expectSafe(unnoted).toBeLessThanOrEqual(tally.unansweredCount());
      report(
        `${killCount} kills: ${sent} visits sent, ${tally.unansweredCount()} of them never answered; ` +
          `${totals.recorded} clicks counted, ${totals.dropped} dropped, ${totals.missing} missing, ` +
          `${unnoted} of the unanswered never noted, 0 counted twice`,
      );
      report(`lost per kill, and how long before it the oldest of them was answered: ${losses.join(', ')}`);
    } finally {
      await terse.kill();
    }
  },
  heavyTestMaxMs,
);
