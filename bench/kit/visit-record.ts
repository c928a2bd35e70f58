/**
 * What became of the visits: latencies of those that were served and of those that were told to come back later,
 * apart from each other, in all and by stretches of time. Nothing is noted before the warm-up is over.
 */
import { Histogram, type Latencies } from './histogram.ts';

/** One stretch of time. */
export interface Moment {
  /** When it ended, counted from the end of the warm-up. */
  readonly atS: number;
  readonly served: number;
  readonly refused: number;
  readonly broken: number;
  readonly gaveUp: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface VisitReport {
  /** Answers other than 503; `statuses` tells which. */
  readonly served: Latencies;
  /** Answers of 503. */
  readonly refused: Latencies;
  /** Of those, the ones that said when to come again. */
  readonly toldWhen: number;
  /** How many got which status; `NaN` for what was no answer. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Visits whose connection broke, or could not be made. */
  readonly broken: number;
  /** Visits that went to another connection because theirs was closed before it took them. */
  readonly retried: number;
  /** Visitors who left because nobody answered in time. */
  readonly gaveUp: number;
  /** Answers per second that were complete before the time was up. */
  readonly servedPerSecond: number;
  readonly moments: readonly Moment[];
}

export interface RecordTimes {
  /** End of the warm-up. */
  readonly fromNs: number;
  /** When the time is up; later answers are noted but do not count for the rate. */
  readonly toNs: number;
  readonly momentNs: number;
}

const refusedStatus = 503;

export class VisitRecord {
  readonly served = new Histogram();
  readonly #refused = new Histogram();
  readonly #statuses = new Map<number, number>();
  readonly #times: RecordTimes;
  readonly #onMoment: (moment: Moment) => void;
  readonly #moments: Moment[] = [];
  readonly #momentServed = new Histogram();
  #momentRefused = 0;
  #momentBroken = 0;
  #momentGaveUp = 0;
  #momentEndNs: number;
  #inTime = 0;
  #broken = 0;
  #retried = 0;
  #toldWhen = 0;
  #gaveUp = 0;

  constructor(times: RecordTimes, onMoment: (moment: Moment) => void = () => {}) {
    this.#times = times;
    this.#onMoment = onMoment;
    this.#momentEndNs = times.fromNs + times.momentNs;
  }

  noteAnswer(status: number, dueNs: number, nowNs: number, saysWhen = false): void {
    if (!this.#isNoted(nowNs)) return;
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    const latencyUs = (nowNs - dueNs) / 1_000;
    if (status === refusedStatus) {
      this.#refused.record(latencyUs);
      if (saysWhen) this.#toldWhen += 1;
      this.#momentRefused += 1;
      return;
    }
    this.served.record(latencyUs);
    this.#momentServed.record(latencyUs);
    if (nowNs <= this.#times.toNs) this.#inTime += 1;
  }

  noteBroken(nowNs: number): void {
    if (!this.#isNoted(nowNs)) return;
    this.#broken += 1;
    this.#momentBroken += 1;
  }

  noteRetried(nowNs: number): void {
    if (this.#isNoted(nowNs)) this.#retried += 1;
  }

  noteGaveUp(nowNs: number, visitors = 1): void {
    if (!this.#isNoted(nowNs)) return;
    this.#gaveUp += visitors;
    this.#momentGaveUp += visitors;
  }

  /** `endNs`: when the load really ended, which may be before its time. */
  report(endNs: number): VisitReport {
    this.#closeMoments(Math.min(endNs, this.#times.toNs));
    const durationS = (Math.min(endNs, this.#times.toNs) - this.#times.fromNs) / 1e9;
    return {
      served: this.served.latencies(),
      refused: this.#refused.latencies(),
      toldWhen: this.#toldWhen,
      statuses: Object.fromEntries(this.#statuses),
      broken: this.#broken,
      retried: this.#retried,
      gaveUp: this.#gaveUp,
      servedPerSecond: this.#inTime / durationS,
      moments: this.#moments,
    };
  }

  #isNoted(nowNs: number): boolean {
    if (nowNs >= this.#momentEndNs) this.#closeMoments(Math.min(nowNs, this.#times.toNs));
    return nowNs >= this.#times.fromNs;
  }

  #closeMoments(nowNs: number): void {
    const { fromNs, momentNs } = this.#times;
    for (; this.#momentEndNs <= nowNs; this.#momentEndNs += momentNs) {
      const { count, p50Ms, p99Ms, maxMs } = this.#momentServed.latencies();
      const atS = (this.#momentEndNs - fromNs) / 1e9;
      const [refused, broken, gaveUp] = [this.#momentRefused, this.#momentBroken, this.#momentGaveUp];
      this.#moments.push({ atS, served: count, refused, broken, gaveUp, p50Ms, p99Ms, maxMs });
      this.#onMoment(this.#moments.at(-1)!);
      this.#momentServed.clear();
      this.#momentRefused = 0;
      this.#momentBroken = 0;
      this.#momentGaveUp = 0;
    }
  }
}
