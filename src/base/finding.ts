/** What a check of an engine or a machine found, and a list that collects such findings. */
import type { Clock } from './clock.ts';

export interface Finding {
  /** What was checked, such as `postgres`. */
  readonly subject: string;
  readonly check: string;
  readonly verdict: Verdict;
  /** What was found. */
  readonly detail: string;
  /** What to do about it; for every finding that is not ok. */
  readonly fix?: string;
  /** The Kafka topic that it is about, if any. */
  readonly topic?: string;
}

export type Verdict = 'ok' | 'warn' | 'fail';

export class Findings {
  readonly #about: Pick<Finding, 'subject' | 'topic'>;
  readonly list: Finding[] = [];

  constructor(subject: string, topic?: string) {
    this.#about = { subject, ...(topic !== undefined && { topic }) };
  }

  ok(check: string, detail: string): void {
    this.list.push({ ...this.#about, check, verdict: 'ok', detail });
  }

  /** It works, but not well, or not for much longer. */
  warn(check: string, detail: string, fix: string): void {
    this.list.push({ ...this.#about, check, verdict: 'warn', detail, fix });
  }

  /** Terse would not start, would not serve, or would lose something. */
  fail(check: string, detail: string, fix: string): void {
    this.list.push({ ...this.#about, check, verdict: 'fail', detail, fix });
  }

  /** Adds a finding with this verdict; `fix` is used unless the verdict is ok. */
  judge(check: string, verdict: Verdict | boolean, detail: string, fix: string): void {
    if (verdict === true || verdict === 'ok') this.ok(check, detail);
    else this[verdict === 'fail' ? 'fail' : 'warn'](check, detail, fix);
  }

  version(version: string, oldestTested: number): void {
    if (Number.parseInt(version, 10) >= oldestTested) this.ok('version', version);
    else this.warn('version', `${version} is not tested`, `upgrade to ${oldestTested} or later`);
  }

  /** Compares a server's clock with ours, by asking for its time once. */
  async clock(clock: Clock, theirNow: () => Promise<number>): Promise<void> {
    const askedAt = clock.now();
    const skewMs = Math.round(leastSkew(askedAt, await theirNow(), clock.now()));
    const isNear = Math.abs(skewMs) <= skewWarnMs;
    this.judge('clock', isNear, `${skewMs} ms from ours`, 'let both machines keep time by NTP');
  }

  async latency(clock: Clock, ask: () => Promise<unknown>, slowMs: number, fix: string): Promise<void> {
    const tookMs = await medianMs(clock, ask);
    const shown = tookMs.toFixed(slowMs < 10 ? 2 : 1);
    this.judge('latency', tookMs <= slowMs, `${shown} ms for a question`, fix);
  }
}

const skewWarnMs = 1_000;

/** The median of an odd number of measurements. */
export function medianOf(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const pings = 5;

/** Measures a few times, one after the other. */
export async function medianMs(clock: Clock, ping: () => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  for (let count = 0; count < pings; count += 1) {
    const startedMs = clock.monotonicMs();
    await ping();
    took.push(clock.monotonicMs() - startedMs);
  }
  return medianOf(took);
}

/** The innermost message, without the wrapper that trying every address of a name adds. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0]);
  if (error instanceof Error && error.cause instanceof Error) return messageOf(error.cause);
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

/** The least difference between a clock and ours, if it was read at some moment between the question and the answer. */
export function leastSkew(askedAt: number, theirs: number, answeredAt: number): number {
  if (theirs < askedAt) return theirs - askedAt;
  return Math.max(0, theirs - answeredAt);
}
