/**
 * Walks all links in rounds, a page at a time, and checks whether their destinations answer. One process of an
 * installation does it at a time; when it ends, another continues at the same page, and no link is skipped.
 *
 * It is slow on purpose: a limited number of requests per second in all, one request at a time to a host, and a pause
 * between two. Only one page is in memory, however many links there are.
 */
import { type Clock, sleep } from '../base/clock.ts';
import { inParallel } from '../base/in-parallel.ts';
import { type Link, stateOf } from '../links/link.ts';
import { type Ask, askedPorts } from './ask.ts';
import { destinationOf, type HealthRecord, type HealthStore, recordOf, type WalkPosition } from './health.ts';

export interface LinkPages {
  /** All links, including deleted ones; undefined starts from the beginning. */
  page(
    cursor: string | undefined,
    limit: number,
  ): Promise<{ links: readonly Link[]; next: string | undefined }>;
}

export interface WalkerOptions {
  readonly store: HealthStore;
  readonly links: LinkPages;
  readonly ask: Ask;
  /** Identifies this process among all others. */
  readonly runner: string;
  /** From the start of a round to the next; longer when there are more links than can be checked in it. */
  readonly roundMs: number;
  readonly checksPerS: number;
  readonly clock: Clock;
  readonly onProblem: (error: unknown) => void;
  readonly onPage?: (counts: WalkerCounts) => void;
}

/** Counts since the start. */
export interface WalkerCounts {
  readonly answered: number;
  readonly failing: number;
}

const pageLinksMax = 100;
const hostsMax = 8;
/** Between two pages. */
const pagePauseMs = 50;
/** Between two requests to one host. */
const hostPauseMs = 1_000;
/** How long the others wait for a runner that stopped renewing its turn, and how often a runner renews it. */
const turnMs = 2 * 60_000;
const renewPeriodMs = 20_000;
/** How often the processes without the turn check for it, and the pause after a failure. */
const lookPeriodMs = 30_000;

export class HealthWalker {
  readonly #options: WalkerOptions;
  #counts: WalkerCounts = { answered: 0, failing: 0 };
  #nextAskMs = 0;
  #renewedMs = 0;
  #isStopped = false;

  constructor(options: WalkerOptions) {
    this.#options = options;
  }

  get counts(): WalkerCounts {
    return this.#counts;
  }

  /** Returns after `stop`, at the end of the current pause or page. */
  async run(): Promise<void> {
    const { clock, onProblem } = this.#options;
    while (!this.#isStopped) {
      const pauseMs = await this.step().catch(error => {
        onProblem(error);
        return lookPeriodMs;
      });
      if (pauseMs > 0) await sleep(clock, pauseMs);
    }
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Checks a page if this process has the turn and it is due; returns how long there is nothing to do. */
  async step(): Promise<number> {
    const { store, links, runner, roundMs, clock, onPage } = this.#options;
    const now = clock.now();
    const position = await store.takeTurn(runner, now, turnMs);
    this.#renewedMs = clock.monotonicMs();
    if (position === undefined) return lookPeriodMs;
    const nextRoundAt = position.roundAt + roundMs;
    if (position.cursor === null && now < nextRoundAt) return Math.min(lookPeriodMs, nextRoundAt - now);
    const { links: page, next } = await links.page(position.cursor ?? undefined, pageLinksMax);
    await this.#check(page);
    const roundAt = position.cursor === null ? now : position.roundAt;
    await store.noteTurn(runner, { roundAt, cursor: next ?? null } satisfies WalkPosition);
    onPage?.(this.#counts);
    // Also where there was nothing to check: reading the whole store at full speed is not polite either.
    await sleep(clock, pagePauseMs);
    return 0;
  }

  async #check(page: readonly Link[]): Promise<void> {
    const { store, roundMs, clock } = this.#options;
    const now = clock.now();
    const askable = page.filter(link => stateOf(link, now) === 'active' && isAskable(link));
    const known = await store.find(askable.map(({ code }) => code));
    const before = new Map(known.flatMap(record => (record === undefined ? [] : [[record.code, record]])));
    // After a restart, or when a turn was lost, links that were just checked are not checked again.
    const due = askable.filter(({ code, longUrl }) => {
      const record = before.get(code);
      return record?.destination !== destinationOf(longUrl) || record.checkedAt < now - roundMs / 2;
    });
    const hosts = [...Map.groupBy(due, ({ longUrl }) => new URL(longUrl).host).values()];
    const records: HealthRecord[] = [];
    await inParallel(hosts.length, hostsMax, async index => {
      for (const [place, link] of hosts[index]!.entries()) {
        if (place > 0) await sleep(clock, hostPauseMs);
        await this.#keepTurn();
        records.push(await this.#ask(link, before.get(link.code)));
      }
    });
    const failing = records.filter(({ failingSince }) => failingSince !== null).length;
    this.#counts = {
      answered: this.#counts.answered + records.length - failing,
      failing: this.#counts.failing + failing,
    };
    // Long enough to outlast a round that takes longer than it should.
    if (records.length > 0) await store.save(records, clock.now(), keptRounds * roundMs);
  }

  /** Renews the turn during a page, because one with many links to one host takes long. If it is lost, links may be checked twice. */
  async #keepTurn(): Promise<void> {
    const { store, runner, clock } = this.#options;
    if (clock.monotonicMs() - this.#renewedMs < renewPeriodMs) return;
    this.#renewedMs = clock.monotonicMs();
    await store.takeTurn(runner, clock.now(), turnMs);
  }

  async #ask(link: Link, before: HealthRecord | undefined): Promise<HealthRecord> {
    const { ask, checksPerS, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const waitMs = Math.max(0, this.#nextAskMs - nowMs);
    this.#nextAskMs = nowMs + waitMs + 1_000 / checksPerS;
    if (waitMs > 0) await sleep(clock, waitMs);
    return recordOf(link, await ask(link.longUrl), before, clock.now());
  }
}

const keptRounds = 30;

function isAskable({ longUrl }: Link): boolean {
  const url = URL.parse(longUrl);
  return url !== null && askedPorts.has(url.port);
}
