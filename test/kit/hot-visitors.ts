/**
 * Visitors who follow the same links all the time: a bounded number of clients at each process, at a steady rate.
 * Results are kept by section, so that a test can report the cost of an outage and of its end.
 */
import { BriskClient } from './brisk-client.ts';

export interface HotLink {
  readonly code: string;
  readonly longUrl: string;
}

export interface HotVisitorsOptions {
  readonly urls: readonly string[];
  readonly links: readonly HotLink[];
  readonly clientsPerProcess: number;
  /** For all processes together. */
  readonly visitsPerSecond: number;
}

export interface FailedVisit {
  /** Time since the section began. */
  readonly atMs: number;
  readonly process: number;
  readonly code: string;
  /** The status and location, or why there was no answer. */
  readonly answer: string;
}

export interface Section {
  readonly visits: number;
  readonly failed: readonly FailedVisit[];
  readonly tookMs: readonly number[];
}

const answerMaxMs = 15_000;

export class HotVisitors {
  readonly #options: HotVisitorsOptions;
  readonly #clients: BriskClient[];
  #loops: Promise<void>[] = [];
  #isOver = false;
  #sectionStartMs = 0;
  #failed: FailedVisit[] = [];
  #tookMs: number[] = [];

  constructor(options: HotVisitorsOptions) {
    this.#options = options;
    this.#clients = options.urls.map(url => new BriskClient(url, options.clientsPerProcess));
  }

  /** Visits every link at every process once, then starts the load. */
  async start(): Promise<void> {
    const { urls, links, clientsPerProcess } = this.#options;
    this.section();
    for (let process = 0; process < urls.length; process += 1) {
      for (let n = 0; n < links.length; n += clientsPerProcess) {
        const some = links.slice(n, n + clientsPerProcess);
        await Promise.all(some.map(link => this.#visit(process, link)));
      }
    }
    const { failed } = this.section();
    if (failed.length > 0) throw new Error(`${failed.length} links cannot be followed: ${failed[0]?.answer}`);
    this.#loops = urls.flatMap((_, process) =>
      Array.from({ length: clientsPerProcess }, (_, client) => this.#keepVisiting(process, client)),
    );
  }

  /** What happened since the last call. */
  section(): Section {
    const section = { visits: this.#tookMs.length, failed: this.#failed, tookMs: this.#tookMs };
    this.#sectionStartMs = performance.now();
    this.#failed = [];
    this.#tookMs = [];
    return section;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
    for (const client of this.#clients) client.close();
  }

  /** Each client takes every n-th link, so that those of a process visit all of them in turn. */
  async #keepVisiting(process: number, client: number): Promise<void> {
    const { urls, links, clientsPerProcess, visitsPerSecond } = this.#options;
    const everyMs = (1_000 * urls.length * clientsPerProcess) / visitsPerSecond;
    let dueMs = performance.now() + (client * everyMs) / clientsPerProcess;
    for (let turn = client; !this.#isOver; turn += clientsPerProcess) {
      await Bun.sleep(Math.max(0, dueMs - performance.now()));
      await this.#visit(process, links[turn % links.length]!);
      // A client that was delayed does not catch up.
      dueMs = Math.max(dueMs + everyMs, performance.now());
    }
  }

  async #visit(process: number, { code, longUrl }: HotLink): Promise<void> {
    const startedMs = performance.now();
    const late = Promise.withResolvers<string>();
    const timer = setTimeout(() => late.resolve(`no answer within ${answerMaxMs / 1_000} s`), answerMaxMs);
    const asking = this.#clients[process]!.call([`GET /${code} HTTP/1.1`]).then(
      ({ status, location }) => (status === 302 && location === longUrl ? 'right' : `${status} ${location}`),
      error => (error as Error).message,
    );
    const answer = await Promise.race([asking, late.promise]);
    clearTimeout(timer);
    this.#tookMs.push(performance.now() - startedMs);
    if (answer !== 'right')
      this.#failed.push({ atMs: startedMs - this.#sectionStartMs, process, code, answer });
  }
}

/** The figures of a section in one line. */
export function shownSection({ visits, failed, tookMs }: Section): string {
  const at = percentilesOf(tookMs);
  const latency = `p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms, max ${at(1).toFixed(0)} ms`;
  if (failed.length === 0) return `0 of ${visits} failed; ${latency}`;
  const counts = (each: (visit: FailedVisit) => string | number): string =>
    [...Map.groupBy(failed, each)].map(([name, some]) => `${name}: ${some.length}`).join(', ');
  const [first, last] = [failed[0]!, failed.at(-1)!].map(({ atMs }) => (atMs / 1_000).toFixed(1));
  const when = `from ${first} s to ${last} s`;
  return `${failed.length} of ${visits} failed (${counts(({ answer }) => answer)}; by process ${counts(
    ({ process }) => process,
  )}; ${when}); ${latency}`;
}

/** The value at a share of the sorted values; 0 without values. */
export function percentilesOf(values: readonly number[]): (share: number) => number {
  const sorted = values.toSorted((a, b) => a - b);
  return share => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
