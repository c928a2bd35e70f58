/**
 * Goes over all links in rounds, a page at a time, and asks where they lead whether somebody is there. One process of an
 * installation does it at a time; when it ends, another goes on at the page where it was, and no link is forgotten.
 *
 * It is in no hurry: so many questions a second in all, one question at a time to a host, and a pause between two. A
 * page is in memory and nothing else, however many links there are.
 */
import { type Clock, sleep } from '../base/clock.ts';
import { inParallel } from '../base/in-parallel.ts';
import { type Link, stateOf } from '../links/link.ts';
import { type Ask, askedPorts } from './ask.ts';
import { destinationOf, type HealthRecord, recordOf } from './health.ts';
import type { HealthStore, WalkPosition } from './store.ts';

export interface LinkPages {
  /** All links, deleted ones and all; undefined begins anew. */
  page(
    cursor: string | undefined,
    limit: number,
  ): Promise<{ links: readonly Link[]; next: string | undefined }>;
}

export interface WalkerOptions {
  readonly store: HealthStore;
  readonly links: LinkPages;
  readonly ask: Ask;
  /** Told apart from all other processes by this. */
  readonly runner: string;
  /** From the beginning of a round to the next; longer when there are more links than can be asked in it. */
  readonly roundMs: number;
  readonly asksPerS: number;
  readonly clock: Clock;
  readonly onProblem: (error: unknown) => void;
  readonly onPage?: (counts: WalkerCounts) => void;
}

/** Since the start; they only grow. */
export interface WalkerCounts {
  readonly answered: number;
  readonly failing: number;
}

const pageLinksMax = 100;
const hostsMax = 8;
/** Between two pages. */
const pagePauseMs = 50;
/** Between two questions to one host. */
const hostPauseMs = 1_000;
/** How long the others wait for a runner that has gone silent, and how often one that has not says so. */
const turnMs = 2 * 60_000;
const renewPeriodMs = 20_000;
/** How often those look whose turn it is not, and how long a failure is waited out. */
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

  /** Ends after `stop`, and then at the end of a pause or a page. */
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

  /** Checks a page, if it is ours to do and time for it; returns how long there is nothing to do. */
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
    // Where there was nothing to ask, too: reading the whole store at full speed is no manners either.
    await sleep(clock, pagePauseMs);
    return 0;
  }

  async #check(page: readonly Link[]): Promise<void> {
    const { store, roundMs, clock } = this.#options;
    const now = clock.now();
    const askable = page.filter(link => stateOf(link, now) === 'active' && isAskable(link));
    const known = await store.find(askable.map(({ code }) => code));
    const before = new Map(known.flatMap(record => (record === undefined ? [] : [[record.code, record]])));
    // After a restart, or when a turn was lost, what was asked a moment ago is not asked again.
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

  /** A page with many links to one host takes its time. Should the turn be lost all the same, two ask the same once. */
  async #keepTurn(): Promise<void> {
    const { store, runner, clock } = this.#options;
    if (clock.monotonicMs() - this.#renewedMs < renewPeriodMs) return;
    this.#renewedMs = clock.monotonicMs();
    await store.takeTurn(runner, clock.now(), turnMs);
  }

  async #ask(link: Link, before: HealthRecord | undefined): Promise<HealthRecord> {
    const { ask, asksPerS, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const waitMs = Math.max(0, this.#nextAskMs - nowMs);
    this.#nextAskMs = nowMs + waitMs + 1_000 / asksPerS;
    if (waitMs > 0) await sleep(clock, waitMs);
    return recordOf(link, await ask(link.longUrl), before, clock.now());
  }
}

const keptRounds = 30;

function isAskable({ longUrl }: Link): boolean {
  const url = URL.parse(longUrl);
  return url !== null && askedPorts.has(url.port);
}
