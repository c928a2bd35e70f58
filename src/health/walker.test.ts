import { beforeEach, describe, expect, test } from 'bun:test';
import { type Clock, systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import type { Link } from '../links/link.ts';
import { sampleLink } from '../links/store-samples.ts';
import { createMemoryRecords } from '../records/drivers/memory.ts';
import { createHealthStore, type HealthStore, type Outcome } from './health.ts';
import { HealthWalker, type WalkerOptions } from './walker.ts';

const start = Date.UTC(2026, 5, 1);
const hourMs = 60 * 60_000;
const roundMs = 24 * hourMs;

/** A clock whose sleeps end at once and advance the time by as much. */
class LeapingClock implements Clock {
  #passedMs = 0;
  now = (): number => start + this.#passedMs;
  monotonicMs = (): number => this.#passedMs;
  after(delayMs: number, task: () => void): () => void {
    const dueMs = this.#passedMs + delayMs;
    queueMicrotask(() => {
      this.#passedMs = Math.max(this.#passedMs, dueMs);
      task();
    });
    return () => {};
  }
  every = (): (() => void) => () => {};
  pass(durationMs: number): void {
    this.#passedMs += durationMs;
  }
}

let clock: LeapingClock;
let store: HealthStore;
let asked: { url: string; atMs: number }[];
let outcomes: Map<string, Outcome>;
let problems: unknown[];
beforeEach(() => {
  clock = new LeapingClock();
  store = createHealthStore(createMemoryRecords(clock), systemClock, systemRandom);
  asked = [];
  outcomes = new Map();
  problems = [];
});

function walkerOver(links: readonly Link[], more: Partial<WalkerOptions> = {}): HealthWalker {
  return new HealthWalker({
    store,
    links: {
      async page(cursor, limit) {
        const from = Number(cursor ?? 0);
        const end = from + limit;
        return { links: links.slice(from, end), next: end < links.length ? String(end) : undefined };
      },
    },
    async ask(url) {
      asked.push({ url, atMs: clock.monotonicMs() });
      return outcomes.get(url) ?? { kind: 'answered', status: 200 };
    },
    runner: 'this one',
    roundMs,
    checksPerS: 1_000,
    clock,
    onProblem: error => problems.push(error),
    ...more,
  });
}

const linksTo = (count: number, hostOf: (n: number) => string): Link[] =>
  Array.from({ length: count }, (_, n) => sampleLink(`code${n}`, { longUrl: `https://${hostOf(n)}/${n}` }));

/** Steps until there is nothing to do for a while. */
async function round(walker: HealthWalker): Promise<void> {
  while ((await walker.step()) === 0);
}

describe('a round', () => {
  test('checks every link once, page by page, and then waits for the next round', async () => {
    const walker = walkerOver(linksTo(250, n => `host${n}.example`));
    await round(walker);
    expect(asked.map(({ url }) => url).toSorted()).toHaveLength(250);
    expect(new Set(asked.map(({ url }) => url)).size).toBe(250);
    expect(walker.counts).toEqual({ answered: 250, failing: 0 });
    expect(await walker.step()).toBeGreaterThan(0);
    expect(asked).toHaveLength(250);
    clock.pass(roundMs);
    await round(walker);
    expect(asked).toHaveLength(500);
  });

  test('skips links that lead nowhere, and ports it must not probe', async () => {
    const links = [
      sampleLink('fine'),
      sampleLink('off', { status: 'disabled' }),
      sampleLink('gone', { status: 'deleted', longUrl: '' }),
      sampleLink('over', { expiresAt: start - 1 }),
      sampleLink('held', { status: 'blocked' }),
      sampleLink('door', { longUrl: 'https://example.com:22/' }),
      sampleLink('usual', { longUrl: 'http://example.com:8080/' }),
    ];
    await round(walkerOver(links));
    expect(asked.map(({ url }) => url).toSorted()).toEqual([
      'http://example.com:8080/',
      'https://example.com/fine',
    ]);
  });

  test('records since when a destination fails, and that it has recovered', async () => {
    const links = [sampleLink('one')];
    const url = 'https://example.com/one';
    outcomes.set(url, { kind: 'answered', status: 404 });
    const walker = walkerOver(links);
    const firstAt = clock.now();
    await round(walker);
    expect(await store.find(['one'])).toMatchObject([
      { failingSince: firstAt, httpStatus: 404, reason: null },
    ]);
    clock.pass(roundMs);
    const secondAt = clock.now();
    outcomes.set(url, { kind: 'unanswered', reason: 'no_such_name' });
    await round(walker);
    expect(await store.find(['one'])).toMatchObject([
      { failingSince: firstAt, checkedAt: secondAt, httpStatus: null, reason: 'no_such_name' },
    ]);
    clock.pass(roundMs);
    outcomes.set(url, { kind: 'answered', status: 302 });
    await round(walker);
    expect(await store.find(['one'])).toMatchObject([{ failingSince: null, httpStatus: 302 }]);
    expect(walker.counts).toEqual({ answered: 1, failing: 2 });
  });

  test('resets the health of a link whose destination changed', async () => {
    outcomes.set('https://example.com/one', { kind: 'answered', status: 500 });
    outcomes.set('https://example.com/two', { kind: 'answered', status: 500 });
    await round(walkerOver([sampleLink('one')]));
    clock.pass(roundMs);
    const edited = sampleLink('one', { longUrl: 'https://example.com/two' });
    const editedAt = clock.now();
    await round(walkerOver([edited]));
    expect((await store.find(['one']))[0]?.failingSince).toBe(editedAt);
  });
});

describe('politeness', () => {
  test('no more requests per second than allowed', async () => {
    await round(
      walkerOver(
        linksTo(50, n => `host${n}.example`),
        { checksPerS: 5 },
      ),
    );
    expect(asked.at(-1)!.atMs).toBeGreaterThanOrEqual((49 / 5) * 1_000 - 1);
  });

  test('the store is not read at full speed either, where there is nothing to check', async () => {
    const links = linksTo(1_000, () => 'host.example').map(link => ({
      ...link,
      status: 'disabled' as const,
    }));
    await round(walkerOver(links));
    expect(asked).toEqual([]);
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(10 * 50);
  });

  test('a host gets one request at a time, with a pause of a second', async () => {
    const links = linksTo(12, n => (n % 2 === 0 ? 'busy.example' : `host${n}.example`));
    await round(walkerOver(links));
    const times = asked.filter(({ url }) => url.includes('busy')).map(({ atMs }) => atMs);
    expect(times).toHaveLength(6);
    for (let n = 1; n < times.length; n += 1) expect(times[n]! - times[n - 1]!).toBeGreaterThanOrEqual(1_000);
  });
});

describe('several processes', () => {
  test('one of them walks; when it stops renewing its turn, another continues at its page', async () => {
    const links = linksTo(250, n => `host${n}.example`);
    const [first, second] = [walkerOver(links), walkerOver(links, { runner: 'another' })];
    expect(await first.step()).toBe(0);
    expect(await second.step()).toBeGreaterThan(0);
    expect(asked).toHaveLength(100);
    clock.pass(20 * 60_000);
    await round(second);
    expect(asked).toHaveLength(250);
    expect(new Set(asked.map(({ url }) => url)).size).toBe(250);
  });

  test('a page that takes long stays with the process that works on it', async () => {
    const first = walkerOver(
      linksTo(100, () => 'busy.example'),
      {
        async ask(url) {
          clock.pass(500);
          asked.push({ url, atMs: clock.monotonicMs() });
          if (asked.length === 99) expect(await second.step()).toBeGreaterThan(0);
          return { kind: 'unanswered', reason: 'too_slow' };
        },
      },
    );
    const second = walkerOver(
      linksTo(100, () => 'busy.example'),
      { runner: 'another', checksPerS: 1 },
    );
    const startMs = clock.monotonicMs();
    await first.step();
    expect(clock.monotonicMs() - startMs).toBeGreaterThan(2 * 60_000);
    expect(asked).toHaveLength(100);
  });

  test('a link that was just checked is not checked again after a restart', async () => {
    const links = linksTo(3, n => `host${n}.example`);
    await round(walkerOver(links));
    await store.noteTurn('this one', { roundAt: 0, cursor: null });
    await round(walkerOver(links));
    expect(asked).toHaveLength(3);
  });
});

test('an outage of the store is reported and waited out, and nothing is lost', async () => {
  let isDown = true;
  const links = linksTo(3, n => `host${n}.example`);
  const walker = walkerOver(links, {
    links: {
      async page() {
        if (isDown) throw new Error('down');
        return { links, next: undefined };
      },
    },
    onProblem(error) {
      problems.push(error);
      isDown = problems.length < 3;
    },
    onPage: () => walker.stop(),
  });
  await walker.run();
  expect(problems).toHaveLength(3);
  expect(asked).toHaveLength(3);
});
