/**
 * Checks the numbers of each hour by comparing four of them, each obtained in another way: the clicks that producers
 * numbered, the clicks in the stream, the ledger, and the sum of the counts of all links. If they differ, clicks were
 * lost or counted twice, and a repair of that hour (`Warehouse.repair`) corrects it. A settling hour is not judged: its
 * numbers were not read at one moment.
 *
 * Counting the stream reads all of it since the first hour, so it is done only on request.
 */
import { type Clock, sleep } from '../base/clock.ts';
import type { ProducerHead } from './log.ts';
import { reconcile } from './reconcile.ts';
import { hourMs, hourOf, type ReplayedLog, SpanReplay } from './replay.ts';
import type { HourSum, LedgerRow, Warehouse } from './warehouse.ts';

export interface HourComparison {
  readonly hour: number;
  /** Clicks that producers numbered: recorded, dropped or missing. */
  readonly noted: number;
  readonly dropped: number;
  readonly missing: number;
  /** Clicks according to the ledger. */
  readonly recorded: number;
  /** Sum of the counts of links, deleted ones included; null for an hour that is too old to compare. */
  readonly counted: number | null;
  /** Single clicks, if the warehouse keeps them. */
  readonly kept: number | null;
  /** Clicks in the stream; null if they were not counted or are not all kept. */
  readonly inStream: number | null;
  /** Messages of that hour that are not counted yet; null if the stream cannot report it. */
  readonly uncounted: number | null;
  /** Clicks may still arrive, or the hour was changed while it was read. */
  readonly settling: boolean;
  /** The share of the clicks that were lost, or on which the numbers disagree. */
  readonly drift: number;
}

export interface ComparisonSources {
  readonly warehouse: Pick<Warehouse, 'ledger' | 'producers' | 'positions' | 'hourSums' | 'comparableSince'>;
  heads(): Promise<ProducerHead[]>;
  /** See settling.ts. */
  settledUntil(heads: readonly ProducerHead[]): Promise<number>;
  readonly log: ReplayedLog;
  /** Whether positions by time are exact, so that messages can be assigned to hours. */
  readonly hasTimes: boolean;
}

export interface HourRange {
  readonly from: number;
  readonly to: number;
  readonly countsStream: boolean;
}

export async function compareHours(
  sources: ComparisonSources,
  { from, to, countsStream }: HourRange,
): Promise<HourComparison[]> {
  const { warehouse, log } = sources;
  const span = { from: hourOf(from), to: hourOf(to + hourMs - 1) };
  const heads = await sources.heads();
  const settledBefore = await sources.settledUntil(heads);
  const ledger = await warehouse.ledger(span.from, span.to);
  const [counted, sums, since] = await Promise.all([
    warehouse.producers(),
    warehouse.hourSums(span.from, span.to),
    warehouse.comparableSince(),
  ]);
  const sumOf = new Map(sums.map(sum => [sum.hour, sum]));
  const inStream = countsStream ? await streamHours(sources, span) : new Map<number, number>();
  const keptSince = countsStream ? (await log.retention()).keptSince : Number.POSITIVE_INFINITY;
  // Clicks of an old hour may have arrived meanwhile, for example from an edge's log: either they wait, or the ledger
  // has changed.
  const settledUntil = Math.min(settledBefore, await sources.settledUntil(heads));
  const changed = changedHours(ledger, await warehouse.ledger(span.from, span.to));
  const account = reconcile({ heads, counted, countedAfter: counted, ledger, settledUntil, ...span });
  const accounts = Map.groupBy(account.hours, ({ hour }) => hour);
  const hours = new Set([...accounts.keys(), ...sumOf.keys(), ...inStream.keys()]);
  const uncounted = await uncountedMessages(sources, hours);
  return [...hours]
    .sort((a, b) => a - b)
    .map(hour => {
      const add = (field: 'recorded' | 'dropped' | 'missing'): number =>
        (accounts.get(hour) ?? []).reduce((sum, account) => sum + account[field], 0);
      return judged({
        hour,
        recorded: add('recorded'),
        dropped: add('dropped'),
        missing: add('missing'),
        ...(hour >= since ? shownOf(sumOf.get(hour)) : { counted: null, kept: null }),
        inStream: hour >= keptSince ? (inStream.get(hour) ?? 0) : null,
        uncounted: uncounted.get(hour) ?? null,
        settling: hour + hourMs > settledUntil || changed.has(hour) || (uncounted.get(hour) ?? 0) > 0,
      });
    });
}

/** Hours in which clicks were counted or repaired between two looks at the ledger. */
function changedHours(before: readonly LedgerRow[], after: readonly LedgerRow[]): Set<number> {
  const textOf = ({ hour, producer, ...counts }: LedgerRow): string =>
    `${hour} ${producer} ${counts.counted} ${counts.skipped}`;
  const [first, second] = [new Set(before.map(textOf)), new Set(after.map(textOf))];
  return new Set([...first.symmetricDifference(second)].map(text => Number(text.split(' ', 1)[0])));
}

/** The clicks that statistics show for an hour, plus those of deleted links. */
function shownOf(sum: HourSum | undefined): Pick<HourComparison, 'counted' | 'kept'> {
  return { counted: (sum?.counted ?? 0) + (sum?.forgotten ?? 0), kept: sum === undefined ? null : sum.kept };
}

function judged(hour: Omit<HourComparison, 'noted' | 'drift'>): HourComparison {
  const { recorded, dropped, missing, counted, kept, inStream } = hour;
  const others = [counted, kept, inStream].filter(number => number !== null);
  const apart = Math.max(0, ...others.map(number => Math.abs(number - recorded)));
  const noted = recorded + dropped + missing;
  const most = Math.max(noted, ...others);
  return { ...hour, noted, drift: most === 0 ? 0 : Math.min(1, (dropped + missing + apart) / most) };
}

/** Clicks in the stream by hour, each once, as far as they are counted. */
async function streamHours(
  { warehouse, log }: ComparisonSources,
  span: { from: number; to: number },
): Promise<Map<number, number>> {
  const replay = new SpanReplay(log, span);
  for await (const _ of replay.upTo(await warehouse.positions()));
  const hours = new Map<number, number>();
  for (const { hour, clicks } of replay.hours) hours.set(hour, (hours.get(hour) ?? 0) + clicks);
  return hours;
}

/**
 * Uncounted messages by the hour in which they were written: those between the counted offset and the end of the hour.
 */
async function uncountedMessages(
  { warehouse, log, hasTimes }: ComparisonSources,
  hours: ReadonlySet<number>,
): Promise<Map<number, number>> {
  if (!hasTimes) return new Map();
  const positions = await warehouse.positions();
  const uncounted = new Map<number, number>();
  for (const hour of hours) {
    const [starts, ends] = [await log.offsetsAt(hour), await log.offsetsAt(hour + hourMs)];
    const messages = [...ends].map(([partition, end]) =>
      Math.max(0, end - Math.max(positions.get(partition) ?? 0, starts.get(partition) ?? 0)),
    );
    uncounted.set(
      hour,
      messages.reduce((sum, count) => sum + count, 0),
    );
  }
  return uncounted;
}

/**
 * Compares one hour of the last day at a time, the one whose last attempt is longest ago, so that every hour gets its turn
 * and the work is bounded. An attempt on an hour that is settling or cannot be compared counts too: it must not block
 * the others. A difference is checked twice, because a comparison may run in the middle of a change.
 */
export interface HourWatchOptions {
  readonly compare: (from: number, to: number) => Promise<readonly HourComparison[]>;
  readonly clock: Clock;
}

export interface HourFigures {
  /** The largest drift of any hour. */
  readonly worst: number;
  /** Hours whose drift exceeds the limit. */
  readonly drifting: number;
}

const hoursWatched = 24;
const driftMax = 0.001;
const secondLookMs = 5_000;

export class HourWatch {
  readonly #options: HourWatchOptions;
  /** By the start of the hour, least recently tried first; undefined while an hour's drift is unknown. */
  readonly #drifts = new Map<number, number | undefined>();

  constructor(options: HourWatchOptions) {
    this.#options = options;
  }

  /** Undefined while no drift is known. */
  get figures(): HourFigures | undefined {
    const drifts = [...this.#drifts.values()].filter(drift => drift !== undefined);
    if (drifts.length === 0) return undefined;
    return { worst: Math.max(...drifts), drifting: drifts.filter(drift => drift > driftMax).length };
  }

  async round(): Promise<void> {
    const newest = hourOf(this.#options.clock.now()) - hourMs;
    const watched = Array.from({ length: hoursWatched }, (_, index) => newest - index * hourMs);
    for (const hour of this.#drifts.keys()) if (!watched.includes(hour)) this.#drifts.delete(hour);
    const hour = watched.find(each => !this.#drifts.has(each)) ?? this.#drifts.keys().next().value!;
    const before = this.#drifts.get(hour);
    this.#drifts.delete(hour);
    this.#drifts.set(hour, before);
    const drift = await this.#driftOf(hour);
    // The last known drift stays while an hour is settling again.
    if (drift !== undefined) this.#drifts.set(hour, drift);
  }

  /** Undefined for an hour that is settling. */
  async #driftOf(hour: number): Promise<number | undefined> {
    const { compare, clock } = this.#options;
    const look = async (): Promise<number | undefined> => {
      const found = (await compare(hour, hour + hourMs)).find(each => each.hour === hour);
      return found?.settling === true ? undefined : (found?.drift ?? 0);
    };
    const first = await look();
    if (first === undefined || first === 0) return first;
    await sleep(clock, secondLookMs);
    const second = await look();
    return second === undefined ? undefined : Math.min(first, second);
  }
}
