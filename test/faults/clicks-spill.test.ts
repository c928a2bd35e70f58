/**
 * The click log rejects writes for longer than clicks are held in memory. Visitors are still redirected; their clicks
 * wait on disk, where they survive a stop or a kill, and are counted once the log can be written again. Clicks that are
 * not counted are reported as lost.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeFrame } from '../../src/clicks/frame.ts';
import { segmentHeaderBytes } from '../../src/clicks/spill.ts';
import { createClickedLinks, producersIn, reconcileAt, settledAt, statsAt } from '../kit/click-account.ts';
import { callerOf } from '../kit/client.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';

const spilledMin = scaled(3_000, 100_000);
const connections = 16;
const waitMaxMs = 120_000;
const dayMs = 24 * 60 * 60_000;
const addresses = ['91.12.34.56', '2001:db8:77::5'];

let dataFolder: string;
let terse: TerseProcess;

beforeEach(() => {
  dataFolder = temporaryFolder();
});

afterEach(async () => {
  await terse.kill();
  rmSync(dataFolder, { recursive: true, force: true });
});

async function start(env: Record<string, string> = {}): Promise<void> {
  terse = await startTerseProcess({
    dataFolder,
    // Failures are expected here, so nothing is logged.
    env: { TERSE_LOG_LEVEL: 'silent', TERSE_TRUSTED_PROXIES: '127.0.0.1/32', ...env },
  });
}

/** Days whose folder is replaced by a file: today, and tomorrow in case it begins meanwhile. */
const daysInTheWay = [0, 1].map(days => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10));

function breakLog(): void {
  mkdirSync(join(dataFolder, 'clicks'), { recursive: true });
  for (const day of daysInTheWay) writeFileSync(join(dataFolder, 'clicks', day), 'in the way');
}

function repairLog(): void {
  for (const day of daysInTheWay) rmSync(join(dataFolder, 'clicks', day));
}

async function metric(name: string): Promise<number> {
  const { body } = await callerOf(terse.url)('GET', '/metrics');
  const line = String(body)
    .split('\n')
    .find(each => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`there is no metric ${name}`);
  return Number(line.slice(name.length));
}

async function droppedByReasons(): Promise<number> {
  const reasons = ['buffer-full', 'memory-full', 'spill-full', 'invalid'];
  const counts = reasons.map(reason => metric(`terse_clicks_dropped_total{reason="${reason}"}`));
  return (await Promise.all(counts)).reduce((sum, clicks) => sum + clicks, 0);
}

/** Sends visits until the condition holds, and checks that visitors do not notice the failure. */
async function visitUntil(tally: VisitTally, isSo: () => Promise<boolean>): Promise<void> {
  let ended = false;
  const load = (async () => {
    while (!ended) await sendVisits({ url: terse.url, visits: tally, connections, count: 500 });
  })();
  try {
    await until('the end of the visits', isSo, { maxMs: waitMaxMs });
  } finally {
    ended = true;
    await load;
  }
  expect(tally.faults).toEqual([]);
  expect(tally.unansweredCount()).toBe(0);
}

const isSpilling = async (): Promise<boolean> => (await metric('terse_clicks_spilled_total')) >= spilledMin;

async function tallyOfNewLinks(): Promise<VisitTally> {
  return new VisitTally(sampleVisits({ codes: await createClickedLinks(terse.url, 4), addresses }));
}

/** The contents of the spill, as text. */
function spilledText(): string {
  const files = readdirSync(join(dataFolder, 'spill'), { recursive: true, withFileTypes: true });
  return files
    .filter(file => file.isFile())
    .map(file => {
      const bytes = readFileSync(join(file.parentPath, file.name));
      let text = '';
      for (let offset = segmentHeaderBytes; ; ) {
        const frame = decodeFrame(bytes, offset);
        if (frame === undefined) return text;
        const { links, agents, referrers, places, visits } = frame.batch;
        text += JSON.stringify({ links, agents, referrers, places, visits });
        offset += frame.bytes;
      }
    })
    .join('');
}

test(
  'clicks that the log does not take are spilled, and all of them are counted once it does',
  async () => {
    await start();
    const tally = await tallyOfNewLinks();
    breakLog();
    await visitUntil(tally, isSpilling);
    expect(await metric('terse_clicks_stored_total')).toBe(0);
    repairLog();
    await visitUntil(tally, async () => (await metric('terse_clicks_spilled_bytes')) === 0);

    const sent = tally.answeredCount();
    const { totals } = await settledAt(terse.url, dataFolder);
    expectSafe(totals).toEqual({
      produced: sent,
      recorded: sent,
      dropped: 0,
      duplicates: 0,
      missing: 0,
      pending: 0,
      settling: false,
    });
    const stats = await statsAt(terse.url, '/api/v1/stats');
    expectSafe(stats.totalClicks).toBe(tally.answeredCount(kind => kind.isHuman));
    report(`log down: ${sent} visits, ${await metric('terse_clicks_spilled_total')} spilled, all counted`);
  },
  heavyTestMaxMs,
);

test(
  'what was spilled outlives a kill, a start with the log still unavailable, and holds no visitor’s address',
  async () => {
    await start();
    const tally = await tallyOfNewLinks();
    const [killed] = producersIn(dataFolder);
    breakLog();
    await visitUntil(tally, isSpilling);
    const spilled = await metric('terse_clicks_spilled_total');
    const before = tally.answeredCount();
    await terse.kill();
    const text = spilledText();
    expect(text).toContain('Firefox');
    for (const address of [...addresses, '127.0.0.1']) expect(text).not.toContain(address);

    await start();
    await visitUntil(tally, isSpilling);
    repairLog();
    const { totals, producers } = await settledAt(terse.url, dataFolder, 1);
    const account = producers.find(({ producer }) => producer === killed)!;
    expectSafe(account.produced).toBe(before);
    expectSafe(account.recorded).toBeGreaterThanOrEqual(spilled);
    expectSafe(account.recorded + account.missing).toBe(before);
    expectSafe(totals).toMatchObject({ produced: tally.answeredCount(), dropped: 0, duplicates: 0 });
    expectSafe(totals.recorded).toBe(tally.answeredCount() - account.missing);
    report(
      `killed with the log down: of ${before} clicks ${spilled} were known to be spilled, ` +
        `${account.recorded} counted by the next process, ${account.missing} missing, 0 counted twice`,
    );
  },
  heavyTestMaxMs,
);

test(
  'a stop with the log unavailable loses nothing: clicks are pending, not missing, until the next process stores them',
  async () => {
    await start();
    const tally = await tallyOfNewLinks();
    breakLog();
    await sendVisits({ url: terse.url, visits: tally, connections, count: 1_000 });
    expect(await terse.stop()).toBe(0);
    await start();
    expect((await reconcileAt(terse.url)).totals).toMatchObject({ recorded: 0, pending: 1_000, missing: 0 });
    repairLog();
    const { totals } = await settledAt(terse.url, dataFolder, 1);
    expectSafe(totals).toMatchObject({
      produced: 1_000,
      recorded: 1_000,
      dropped: 0,
      duplicates: 0,
      missing: 0,
    });
  },
  heavyTestMaxMs,
);

test(
  'with the spill’s disk unavailable too, clicks wait in memory, and visitors do not notice',
  async () => {
    writeFileSync(join(dataFolder, 'file'), 'no folder');
    await start({ TERSE_CLICK_SPILL: join(dataFolder, 'file/spill') });
    const tally = await tallyOfNewLinks();
    breakLog();
    const untilMs = performance.now() + scaled(3_000, 20_000);
    await visitUntil(tally, async () => performance.now() > untilMs);
    repairLog();
    const sent = tally.answeredCount();
    const { totals } = await settledAt(terse.url, dataFolder);
    expectSafe(totals).toMatchObject({ produced: sent, duplicates: 0, missing: 0 });
    expectSafe(totals.recorded + totals.dropped).toBe(sent);
    expect(await metric('terse_clicks_spilled_total')).toBe(0);
    // The metrics of the click thread are some seconds old.
    await until('all drops to be reported', async () => (await droppedByReasons()) === totals.dropped);
    report(`log and spill down: ${sent} visits, ${totals.recorded} counted, ${totals.dropped} dropped`);
  },
  heavyTestMaxMs,
);
