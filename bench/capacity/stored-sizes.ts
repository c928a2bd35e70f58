/** The sizes of stored data, from amounts and retention. */
import type { Tiers } from './cache-tiers.ts';
import type { Context } from './demands.ts';
import { distinctSpans, type Popularity } from './popularity.ts';
import { secondsPerDay } from './week.ts';

/** Each copy counts once. */
export interface StoredSizes {
  readonly sharedCache: number;
  readonly links: number;
  readonly linksPerDay: number;
  readonly stream: number;
  readonly rawClicks: number;
  readonly counts: number;
  readonly countsPerDay: number;
  /** The memory of a process whose cache is full. */
  readonly process: number;
}

const quartersPerDay = 96;

export function storedSizes(
  { assumptions, figures }: Context,
  popularity: Popularity,
  {
    tiers,
    redisEntryBytes,
    clickBytes,
    clicksPerS,
  }: { tiers: Tiers; redisEntryBytes: number; clickBytes: number; clicksPerS: number },
): StoredSizes {
  const {
    urlBytes,
    linksKept,
    linksPerDay,
    streamHours,
    clickDays,
    minuteDays,
    countDays,
    l1Entries,
    connections,
  } = assumptions;
  const clicksPerDay = clicksPerS * secondsPerDay;
  const linkBytes =
    urlBytes + (assumptions.store === 'postgres' ? figures.postgresLinkBytes : figures.dynamoLinkBytes);
  const countsPerDay =
    distinctSpans(popularity, clicksPerDay, quartersPerDay) * figures.quarterRowBytes +
    distinctSpans(popularity, clicksPerDay, 1) * figures.dayRowBytes;
  return {
    sharedCache: tiers.sharedEntries * redisEntryBytes,
    links: linksKept * linkBytes,
    linksPerDay: linksPerDay * linkBytes,
    stream: (clicksPerDay * clickBytes * streamHours) / 24,
    rawClicks: clicksPerDay * figures.rawClickBytes * clickDays,
    // Per click, because a minute's row is small compared with its visitors, who are as many as clicks.
    counts: clicksPerDay * figures.minuteClickBytes * minuteDays + countsPerDay * countDays,
    countsPerDay,
    process:
      figures.workerMb * 1e6 +
      l1Entries * (figures.l1EntryBytes + urlBytes) * figures.heapShare +
      connections * figures.connectionBytes,
  };
}
