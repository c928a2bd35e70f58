/**
 * Several workers on one port under load, while some of them are replaced, killed or stopped. Visits are counted on
 * both sides: the answers that clients got, and the clicks that Terse counted.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { createClickedLinks, loggedClicks, settledAt, statsAt } from '../kit/click-account.ts';
import { callerOf } from '../kit/client.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { kill, killKinds, makeVictims, type Victim } from '../kit/kills.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';
import { clientOfEach, clientsOf, isAlive, scrape, workersOf } from '../kit/worker-processes.ts';

const connections = 16;
const restartCount = scaled(2, 10);
const killCount = scaled(2, 20);
/** Beyond this, something is broken rather than slow. */
const hopelessMs = 2_000;

let dataFolder: string;
let terse: TerseProcess;

beforeEach(() => {
  dataFolder = temporaryFolder();
});

afterEach(async () => {
  await terse.stop();
  rmSync(dataFolder, { recursive: true, force: true });
});

/** For tests that provoke log entries. */
const quiet = { TERSE_LOG_LEVEL: 'silent' };

async function start(workers: number, env: Readonly<Record<string, string | undefined>> = {}): Promise<void> {
  terse = await startTerseProcess({ dataFolder, env: { TERSE_WORKERS: String(workers), ...env } });
}

/** A load that runs until it is stopped. */
class Load {
  readonly visits: VisitTally;
  readonly #ended: Promise<unknown>;
  #isOver = false;

  constructor(url: string, codes: readonly string[]) {
    this.visits = new VisitTally(sampleVisits({ codes }));
    const batch = (visitsPerConnection: number): Promise<void> =>
      sendVisits({
        url,
        visits: this.visits,
        connections: connections / 2,
        count: 500,
        comesBack: true,
        visitsPerConnection,
      });
    // Half of the visitors keep their connections, the others hardly at all.
    const goOn = async (visitsPerConnection: number): Promise<void> => {
      while (!this.#isOver) await batch(visitsPerConnection);
    };
    this.#ended = Promise.all([goOn(200), goOn(3)]);
  }

  get failures(): { unanswered: number; refused: number; broken: number; faults: string[] } {
    const { refused, broken, faults } = this.visits;
    return { unanswered: this.visits.unansweredCount(), refused, broken, faults };
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }
}

const noFailures = { unanswered: 0, refused: 0, broken: 0, faults: [] };

test(
  'a rolling restart fails no request, and every click is counted once',
  async () => {
    await start(2);
    const codes = await createClickedLinks(terse.url, 4);
    const load = new Load(terse.url, codes);
    const seen = new Set(workersOf(terse));
    for (let restart = 0; restart < restartCount; restart += 1) {
      const before = workersOf(terse);
      await Bun.sleep(300);
      process.kill(terse.pid, 'SIGHUP');
      await until('the new workers', () => {
        const now = workersOf(terse);
        return now.length === 2 && !now.some(pid => before.includes(pid));
      });
      for (const pid of workersOf(terse)) seen.add(pid);
    }
    await Bun.sleep(300);
    await load.end();
    expect(load.failures).toEqual(noFailures);
    expect(seen.size).toBe(2 + 2 * restartCount);

    const answered = load.visits.answeredCount();
    const { totals } = await settledAt(terse.url, dataFolder);
    expectSafe(totals).toMatchObject({
      produced: answered,
      recorded: answered,
      missing: 0,
      dropped: 0,
      duplicates: 0,
    });
    const people = load.visits.answeredCount(kind => kind.isHuman);
    const stats = await statsAt(terse.url, `/api/v1/stats?codes=${codes.join(',')}`);
    expectSafe([stats.totalClicks, stats.botClicks]).toEqual([people, answered - people]);
    const shown = await scrape(terse.url);
    expect(shown.get('url_redirects_total{status="302"}')).toBe(answered);
    expect(shown.get('terse_worker_restarts_total{reason="replaced"}')).toBe(2 * restartCount);
    report(`${restartCount} rolling restarts under load: ${answered} visits, 0 failed, all counted once`);
  },
  heavyTestMaxMs,
);

test(
  'a worker that is killed takes its own connections with it and nothing else, and is replaced',
  async () => {
    await start(2, quiet);
    const codes = await createClickedLinks(terse.url, 4);
    let broken = 0;
    let unanswered = 0;
    for (let round = 0; round < killCount; round += 1) {
      const visits = new VisitTally(sampleVisits({ codes }));
      // The connections of this test itself, which stay open.
      const before = new Map(workersOf(terse).map(pid => [pid, clientsOf(pid, terse.url)]));
      const load = sendVisits({
        url: terse.url,
        visits,
        connections,
        count: scaled(20_000, 50_000),
        comesBack: true,
      });
      await until('the first answers', () => visits.answeredCount() > 1_000);
      const [victim, other] = workersOf(terse) as [number, number];
      const clients = clientsOf(victim, terse.url) - before.get(victim)!;
      expect(clients + clientsOf(other, terse.url) - before.get(other)!).toBe(connections);
      process.kill(victim, 'SIGKILL');
      await load;
      expect(visits.faults).toEqual([]);
      expect([visits.broken, visits.refused]).toEqual([clients, 0]);
      expect(visits.unansweredCount()).toBeLessThanOrEqual(clients);
      await until(
        'its successor',
        async () => (await scrape(terse.url)).get('terse_workers_reporting') === 2,
      );
      expect(workersOf(terse)).not.toContain(victim);
      expect(workersOf(terse)).toContain(other);
      broken += visits.broken;
      unanswered += visits.unansweredCount();
    }
    report(`${killCount} workers killed: ${broken} connections broken, ${unanswered} requests unanswered`);
  },
  heavyTestMaxMs,
);

test(
  'a worker that hangs is replaced, and meanwhile no new visitor waits for it long',
  async () => {
    await start(2, quiet);
    const [code] = await createClickedLinks(terse.url, 1);
    const [hung] = workersOf(terse) as [number, number];
    process.kill(hung, 'SIGSTOP');
    // One visit per connection, so that half of them reach the worker that hangs.
    const visits = new VisitTally(sampleVisits({ codes: [code!] }));
    await sendVisits({ url: terse.url, visits, connections: 32, count: 96, visitsPerConnection: 1 });
    expect([visits.answeredCount(), visits.faults]).toEqual([96, []]);
    expect(isAlive(hung)).toBe(true);
    await until('its end', () => !isAlive(hung));
    await until('its successor', async () => (await scrape(terse.url)).get('terse_workers_reporting') === 2);
    expect((await scrape(terse.url)).get('terse_worker_restarts_total{reason="hung"}')).toBe(1);
  },
  heavyTestMaxMs,
);

test(
  'workers whose supervisor is killed store their clicks, end, and free the port',
  async () => {
    await start(2, quiet);
    const [code] = await createClickedLinks(terse.url, 1);
    const visits = new VisitTally(sampleVisits({ codes: [code!] }));
    const load = sendVisits({ url: terse.url, visits, connections, count: Number.POSITIVE_INFINITY });
    await until('the first answers', () => visits.answeredCount() > 500);
    const workers = workersOf(terse);
    await terse.kill();
    await load;
    await until('the end of the workers', () => !workers.some(isAlive));
    expect(visits.faults).toEqual([]);
    const logged = loggedClicks(dataFolder);
    expectSafe(logged).toBeGreaterThanOrEqual(visits.answeredCount());
    expectSafe(logged).toBeLessThanOrEqual(visits.answeredCount() + visits.unansweredCount());
    await start(2, { PORT: new URL(terse.url).port });
  },
  heavyTestMaxMs,
);

test(
  'a link that one worker kills is dead in all others, and no worker revives it',
  async () => {
    await start(3);
    const victims = await makeVictims(callerOf(terse.url), scaled(10, 100));
    const takenMs: number[] = [];
    const clients = await clientOfEach(terse);
    const leads = async ({ code, longUrl }: Victim): Promise<boolean[]> => {
      const answers = await Promise.all(clients.map(client => client.get(`/${code}`)));
      return answers.map(({ headers }) => headers.location === longUrl);
    };
    for (const [index, victim] of victims.entries()) {
      expect(await leads(victim)).toEqual([true, true, true]);
      await kill(callerOf(terse.url), killKinds[index % killKinds.length]!, victim);
      const killedMs = performance.now();
      await until('the end of the link', async () => !(await leads(victim)).includes(true));
      takenMs.push(performance.now() - killedMs);
      for (let look = 0; look < 5; look += 1) expectSafe(await leads(victim)).toEqual([false, false, false]);
    }
    for (const client of clients) client.abandon();
    expect(takenMs.filter(each => each > hopelessMs)).toEqual([]);
    report(
      `${victims.length} kills across 3 workers: at the latest after ${Math.max(...takenMs).toFixed(0)} ms`,
    );
  },
  heavyTestMaxMs,
);

describe('a place whose worker cannot be started again', () => {
  test(
    'is served by the others, and taken again as soon as one can be',
    async () => {
      const config = `${dataFolder}/terse.json`;
      await Bun.write(config, '{}');
      const log = Bun.file(`${dataFolder}/log`);
      terse = await startTerseProcess({
        dataFolder,
        stderr: log,
        env: { TERSE_WORKERS: '2', TERSE_CONFIG: config },
      });
      const [code] = await createClickedLinks(terse.url, 1);
      const [victim, other] = workersOf(terse) as [number, number];
      await Bun.write(config, '{');
      process.kill(victim, 'SIGKILL');
      await until('pauses that grow', async () => (await log.text()).includes('"startsAgainInMs":200'));
      // A restart of all workers is refused as well: the running worker continues to serve.
      process.kill(terse.pid, 'SIGHUP');
      await until('the refusal', async () => (await log.text()).includes('could not be replaced'));
      const visits = new VisitTally(sampleVisits({ codes: [code!] }));
      await sendVisits({ url: terse.url, visits, connections: 8, count: 96, visitsPerConnection: 1 });
      expect([visits.answeredCount(), visits.faults]).toEqual([96, []]);
      expect(workersOf(terse)).toContain(other);
      await Bun.write(config, '{}');
      await until('a worker', async () => (await scrape(terse.url)).get('terse_workers_reporting') === 2);
    },
    heavyTestMaxMs,
  );
});
