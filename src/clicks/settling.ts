/**
 * Computes the time until which clicks are settled: every click before it is counted or irrecoverably lost. Numbers of
 * a later time come from sources that were not read at the same moment, so comparing them proves nothing.
 *
 * The time is bounded by three facts: each living producer states until when all its clicks are in the stream
 * (`StoredUntil`); the oldest click in the stream beyond the counted positions is not counted; and so are future
 * clicks. Read the heads first, then call `SettledTime.until`, then read the counts: in this order, clicks that are
 * added meanwhile are later than the bound.
 */
import { yieldToEventLoop } from '../base/clock.ts';
import { clickCount, oldestIn } from './click.ts';
import { type ClickLog, type ProducerHead, partitionsBehind, readBatches } from './log.ts';
import type { RawBatch } from './recorder.ts';
import { hourMs, hourOf } from './replay.ts';

/** A click is recorded when its redirect is answered, which may take as long as a read of the store. */
const noteDelayMaxMs = 30_000;
/** A few milliseconds of work; other callers of the thread run in between. */
const readBytes = 256 * 1024;
/** The next call continues. Until everything is read, no hour is known to be settled. */
const clicksPerCallMax = 1_000_000;
/** Per partition; beyond it the last range grows, which can only make the time earlier than necessary. */
const stretchesMax = 1_024;
const hoursOfDay = 24;

/** On the producer's side: until when all clicks of this process are in the stream. */
export class StoredUntil {
  #sequence = 0;
  #lastClickAt = 0;

  /** A batch has come from the recorder and was given to the writer. */
  taken({ firstSequence, at }: Pick<RawBatch, 'firstSequence' | 'at'>): void {
    this.#sequence = firstSequence + at.length - 1;
    this.#lastClickAt = at.at(-1) ?? this.#lastClickAt;
  }

  /**
   * Read `now` before `sequence`, the newest number. While clicks wait for the stream, `waitingSince` is the oldest
   * time in the next batch: clicks after it were recorded later, so they happened at most the delay earlier.
   */
  until(sequence: number, now: number, waitingSince = Number.POSITIVE_INFINITY): number {
    const noted = sequence <= this.#sequence ? now : this.#lastClickAt;
    return Math.min(noted, waitingSince) - noteDelayMaxMs;
  }
}

/** How many hours of the last day are not settled; the current one never is. */
export function settlingHours(settledUntil: number, now: number): number {
  const hours = Math.ceil((hourOf(now) + hourMs - settledUntil) / hourMs);
  return Math.min(hoursOfDay, Math.max(0, hours));
}

export interface SettlingSources {
  /** How far each partition is counted. */
  positions(): Promise<ReadonlyMap<string, number>>;
  /** Throws when the stream cannot be read; then no hour is known to be settled. */
  readonly log: Pick<ClickLog, 'partitions' | 'read'>;
}

/** A part of a partition that was read. */
interface Stretch {
  readonly from: number;
  to: number;
  /** The time of its oldest click. */
  oldest: number;
}

/** On the reader's side. It remembers what it has read, so that a long backlog is read once and not every minute. */
export class SettledTime {
  readonly #sources: SettlingSources;
  /** The read ranges of each partition, without gaps, from the counted position or a little before. */
  readonly #stretches = new Map<string, Stretch[]>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(sources: SettlingSources) {
    this.#sources = sources;
  }

  /** Calls run one after the other and share no result: each must read the stream after its own heads. */
  until(heads: readonly Pick<ProducerHead, 'alive' | 'storedUntil'>[], now: number): Promise<number> {
    const stored = heads.filter(({ alive }) => alive).map(head => head.storedUntil);
    const until = this.#last.then(async () => Math.min(now, ...stored, await this.#oldestUncounted()));
    this.#last = until.catch(() => undefined);
    return until;
  }

  /** The time of the oldest uncounted click in the stream; infinite when there is none. */
  async #oldestUncounted(): Promise<number> {
    const counted = await this.#sources.positions();
    try {
      return await this.#oldestBehind(counted);
    } catch {
      return Number.NEGATIVE_INFINITY;
    }
  }

  async #oldestBehind(counted: ReadonlyMap<string, number>): Promise<number> {
    const names = (await partitionsBehind(this.#sources.log, counted)).map(({ name }) => name);
    for (const name of this.#stretches.keys()) if (!names.includes(name)) this.#stretches.delete(name);
    let [oldest, clicks] = [Number.POSITIVE_INFINITY, 0];
    for (const name of names) {
      clicks += await this.#readOn(name, counted.get(name) ?? 0, clicksPerCallMax - clicks);
      if (clicks > clicksPerCallMax) return Number.NEGATIVE_INFINITY;
      for (const stretch of this.#stretches.get(name) ?? []) oldest = Math.min(oldest, stretch.oldest);
    }
    return oldest;
  }

  /** Reads to the end of a partition, or until it has read more than `clicksMax` clicks. Returns how many. */
  async #readOn(name: string, counted: number, clicksMax: number): Promise<number> {
    const known = (this.#stretches.get(name) ?? []).filter(({ to }) => to > counted);
    // A recount goes back to positions whose ranges are forgotten.
    const stretches = (known[0]?.from ?? counted) > counted ? [] : known;
    this.#stretches.set(name, stretches);
    let clicks = 0;
    for (let position = stretches.at(-1)?.to ?? counted; clicks <= clicksMax; ) {
      const read = await readBatches(this.#sources.log, name, position, readBytes);
      const to = read.at(-1)?.to ?? position;
      if (to <= position) break;
      const batches = read.map(({ batch }) => batch);
      addStretch(stretches, { from: position, to, oldest: oldestIn(batches) });
      clicks += batches.reduce((sum, batch) => sum + clickCount(batch), 0);
      position = to;
      await yieldToEventLoop();
    }
    return clicks;
  }
}

function addStretch(stretches: Stretch[], next: Stretch): void {
  const last = stretches.at(-1);
  if (last === undefined || stretches.length < stretchesMax) {
    stretches.push(next);
    return;
  }
  last.to = next.to;
  last.oldest = Math.min(last.oldest, next.oldest);
}
