/**
 * Looks at one hour of the last day at a time, whichever was looked at longest ago, so that every hour is compared now and
 * then and the work is bounded. What is wrong is looked at twice, because a comparison may fall between two halves of
 * one change.
 */
import { type Clock, sleep } from '../base/clock.ts';
import type { HourComparison } from './compare-hours.ts';
import { hourMs, hourOf } from './replay.ts';

export interface HourWatchOptions {
  readonly compare: (from: number, to: number) => Promise<readonly HourComparison[]>;
  readonly clock: Clock;
}

export interface HourFigures {
  /** The largest drift of any hour. */
  readonly worst: number;
  /** Hours whose drift is more than may be. */
  readonly drifting: number;
}

const hoursWatched = 24;
const driftMax = 0.001;
const secondLookMs = 5_000;

export class HourWatch {
  readonly #options: HourWatchOptions;
  /** By the start of the hour, in the order in which they were looked at. */
  readonly #drifts = new Map<number, number>();

  constructor(options: HourWatchOptions) {
    this.#options = options;
  }

  /** Undefined before the first look. */
  get figures(): HourFigures | undefined {
    const drifts = [...this.#drifts.values()];
    if (drifts.length === 0) return undefined;
    return { worst: Math.max(...drifts), drifting: drifts.filter(drift => drift > driftMax).length };
  }

  async round(): Promise<void> {
    const newest = hourOf(this.#options.clock.now()) - hourMs;
    const watched = Array.from({ length: hoursWatched }, (_, index) => newest - index * hourMs);
    for (const hour of this.#drifts.keys()) if (!watched.includes(hour)) this.#drifts.delete(hour);
    const hour = watched.find(each => !this.#drifts.has(each)) ?? this.#drifts.keys().next().value!;
    const drift = await this.#driftOf(hour);
    if (drift === undefined) return;
    this.#drifts.delete(hour);
    this.#drifts.set(hour, drift);
  }

  /** Undefined for an hour whose clicks are still on their way. */
  async #driftOf(hour: number): Promise<number | undefined> {
    const { compare, clock } = this.#options;
    const look = async (): Promise<number | undefined> => {
      const found = (await compare(hour, hour + hourMs)).find(each => each.hour === hour);
      return found?.filling === true ? undefined : (found?.drift ?? 0);
    };
    const first = await look();
    if (first === undefined || first === 0) return first;
    await sleep(clock, secondLookMs);
    const second = await look();
    return second === undefined ? undefined : Math.min(first, second);
  }
}
