/** From buckets to the columns a plot takes. Pure. */
import type { Bucket } from '../api/types.ts';

export interface ChartData {
  /** Seconds since the epoch, as the plot wants them. */
  readonly times: number[];
  /** People's clicks in buckets that are final. */
  readonly clicks: (number | null)[];
  /** In buckets that may still grow, together with the last final one, so that the lines meet. */
  readonly filling: (number | null)[];
  readonly bots: number[];
  readonly previous: (number | null)[];
}

export function chartData(series: readonly Bucket[], previous: readonly Bucket[] | undefined): ChartData {
  const firstFilling = series.findIndex(({ filling }) => filling);
  const solidEnd = firstFilling === -1 ? series.length : firstFilling;
  return {
    times: series.map(({ start }) => Date.parse(start) / 1_000),
    clicks: series.map(({ clicks }, index) => (index < solidEnd ? clicks : null)),
    filling: series.map(({ clicks }, index) =>
      index >= solidEnd - 1 && solidEnd < series.length ? clicks : null,
    ),
    bots: series.map(({ botClicks }) => botClicks),
    // As many buckets as are shown, unless its minutes are no longer kept.
    previous: series.map((_, index) => previous?.[index]?.clicks ?? null),
  };
}

/** The chart in a sentence, for those who do not see it. */
export function peakOf(series: readonly Bucket[]): Bucket | undefined {
  return series.reduce<Bucket | undefined>(
    (peak, bucket) => (peak === undefined || bucket.clicks > peak.clicks ? bucket : peak),
    undefined,
  );
}
