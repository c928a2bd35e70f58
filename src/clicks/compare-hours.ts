/**
 * Whether the numbers of each hour are right, by holding four of them against each other that come to be in different
 * ways: what was noted (numbers that producers gave out), what the stream has, what the ledger recorded, and what the
 * counts of all links add up to. Where they differ, something was lost or counted twice, and a repair of that
 * hour (`Warehouse.repair`) puts it right.
 *
 * Counting the stream reads all of it since the first hour, so it is done only when it is asked for.
 */
import { reconcile } from './reconcile.ts';
import {
  addHours,
  type HourOfProducer,
  hourMs,
  hourOf,
  type ReplayableStream,
  SpanReplay,
} from './replay.ts';
import type { ProducerHead } from './stream.ts';
import type { HourSum, Warehouse } from './warehouse.ts';

export interface HourComparison {
  readonly hour: number;
  /** Clicks that producers noted: recorded, dropped or missing. */
  readonly noted: number;
  readonly dropped: number;
  readonly missing: number;
  /** What the ledger says. */
  readonly recorded: number;
  /** What the counts of links add up to, deleted ones included; null for an hour that is too long ago to tell. */
  readonly counted: number | null;
  /** Single clicks, where the warehouse keeps them. */
  readonly kept: number | null;
  /** Clicks in the stream; null unless they were counted and are all still there. */
  readonly inStream: number | null;
  /** Messages of that hour which are not counted yet; null where the stream cannot tell. */
  readonly uncounted: number | null;
  /** Clicks may still be on their way. */
  readonly filling: boolean;
  /** Share of the clicks that were lost, or that the numbers disagree about. */
  readonly drift: number;
}

export interface ComparisonSources {
  readonly warehouse: Pick<Warehouse, 'ledger' | 'producers' | 'positions' | 'hourSums' | 'comparableSince'>;
  heads(): Promise<ProducerHead[]>;
  readonly stream: ReplayableStream;
  /** Whether positions by time are exact, so that messages can be told by the hour. */
  readonly hasTimes: boolean;
  readonly now: number;
}

export interface HourRange {
  readonly from: number;
  readonly to: number;
  readonly countsStream: boolean;
}

/** Counts of the last minutes are still on their way. */
const fillingMs = 2 * 60_000;

export async function compareHours(
  sources: ComparisonSources,
  { from, to, countsStream }: HourRange,
): Promise<HourComparison[]> {
  const { warehouse, stream, now } = sources;
  const span = { from: hourOf(from), to: hourOf(to + hourMs - 1) };
  const [heads, counted, ledger, sums, since] = await Promise.all([
    sources.heads(),
    warehouse.producers(),
    warehouse.ledger(span.from, span.to),
    warehouse.hourSums(span.from, span.to),
    warehouse.comparableSince(),
  ]);
  const accounts = Map.groupBy(reconcile({ heads, counted, ledger, ...span }).hours, ({ hour }) => hour);
  const sumOf = new Map(sums.map(sum => [sum.hour, sum]));
  const inStream = countsStream ? await streamHours(sources, span) : new Map<number, number>();
  const keptSince = countsStream ? await stream.keptSince() : Number.POSITIVE_INFINITY;
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
        filling: hour + hourMs > now - fillingMs || (uncounted.get(hour) ?? 0) > 0,
      });
    });
}

/** What statistics show of an hour, and what they would if nothing of it had been deleted. */
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
  { warehouse, stream }: ComparisonSources,
  span: { from: number; to: number },
): Promise<Map<number, number>> {
  const sums = new Map<string, HourOfProducer>();
  for await (const piece of new SpanReplay(stream, span).upTo(await warehouse.positions()))
    for (const picked of piece) addHours(sums, picked);
  const hours = new Map<number, number>();
  for (const { hour, clicks } of sums.values()) hours.set(hour, (hours.get(hour) ?? 0) + clicks);
  return hours;
}

/** By the hour in which they were written: those between where it ends in each partition and where the counts stand. */
async function uncountedMessages(
  { warehouse, stream, hasTimes }: ComparisonSources,
  hours: ReadonlySet<number>,
): Promise<Map<number, number>> {
  if (!hasTimes) return new Map();
  const positions = await warehouse.positions();
  const uncounted = new Map<number, number>();
  for (const hour of hours) {
    const [starts, ends] = [await stream.positionsAt(hour), await stream.positionsAt(hour + hourMs)];
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
