/** What an answer adds up, and which buckets the minutes of a day belong to. */
import type { DimensionName } from '../../dimensions.ts';
import { Sketch } from '../../sketch/sketch.ts';
import { type Counts, grainMs, otherValue, type Question } from '../../warehouse.ts';
import { minuteCount, slotCount } from './summary.ts';

const minutesPerSlot = minuteCount / slotCount;
export const outside = -1;
/** Values of a dimension that one answer tells apart. */
const listedMax = 50_000;

/** What has been added up for an answer so far. */
export class Tally {
  /** Clicks, bots and suspicious clicks of each bucket, one after the other. */
  readonly counts: Float64Array;
  readonly #starts: readonly number[];
  readonly visitors = new Sketch();
  readonly lists: ReadonlyMap<DimensionName, Map<string, number>>;

  constructor({ starts, breakdowns }: Question) {
    this.#starts = starts;
    this.counts = new Float64Array(Math.max(1, starts.length) * 3);
    this.lists = new Map(breakdowns.map(({ dimension }) => [dimension, new Map()]));
  }

  add(bucket: number, clicks: number, bots: number, suspicious: number): void {
    this.counts[bucket * 3]! += clicks;
    this.counts[bucket * 3 + 1]! += bots;
    this.counts[bucket * 3 + 2]! += suspicious;
  }

  list(dimension: DimensionName, value: string, clicks: number): void {
    const list = this.lists.get(dimension);
    if (list === undefined) return;
    list.set(value, (list.get(value) ?? 0) + clicks);
    // Links are an owner's own; anything else may be invented by visitors.
    if (list.size > listedMax && dimension !== 'link') cutList(list);
  }

  /** The bucket that a time in the range lies in. */
  bucketAt(time: number): number {
    return bucketAt(this.#starts, time);
  }

  sums(): Counts {
    return this.series(Math.max(1, this.#starts.length)).reduce(
      (sum, { clicks, bots, suspicious }) => ({
        clicks: sum.clicks + clicks,
        bots: sum.bots + bots,
        suspicious: sum.suspicious + suspicious,
      }),
      { clicks: 0, bots: 0, suspicious: 0 },
    );
  }

  series(length: number): Counts[] {
    return Array.from({ length }, (_, bucket) => ({
      clicks: this.counts[bucket * 3]!,
      bots: this.counts[bucket * 3 + 1]!,
      suspicious: this.counts[bucket * 3 + 2]!,
    }));
  }
}

/** Leaves the more frequent half of the values; the rest is counted as others. */
function cutList(list: Map<string, number>): void {
  const byClicks = [...list].sort(([a, most], [b, more]) => more - most || (a < b ? -1 : 1));
  let other = 0;
  for (const [value, clicks] of byClicks.slice(listedMax / 2)) {
    list.delete(value);
    other += clicks;
  }
  list.set(otherValue, (list.get(otherValue) ?? 0) + other);
}

function bucketAt(starts: readonly number[], time: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (starts[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Which bucket each minute of a day belongs to; `outside` for those that are not asked about. */
export class DayMinutes {
  readonly buckets = new Int32Array(minuteCount).fill(outside);
  /** Quarter hours that lie in the range as a whole. */
  readonly wholeSlots = new Uint8Array(slotCount);
  /** Which bucket each quarter hour belongs to; `outside` also when it is in none or in several. */
  readonly slotBuckets: Int32Array;
  readonly isWholeDay: boolean;
  /** Minutes in the range that lie in no whole quarter hour; undefined when there are none. */
  readonly edges: Int32Array | undefined;
  readonly isEmpty: boolean;

  constructor(
    day: number,
    { from, to }: { readonly from: number; readonly to: number },
    starts: readonly number[],
  ) {
    const first = Math.max(0, Math.ceil((from - day) / grainMs.minute));
    const end = Math.min(minuteCount, Math.ceil((to - day) / grainMs.minute));
    let bucket = bucketAt(starts, day + first * grainMs.minute);
    for (let minute = first; minute < end; minute += 1) {
      while (bucket + 1 < starts.length && starts[bucket + 1]! <= day + minute * grainMs.minute) bucket += 1;
      this.buckets[minute] = bucket;
    }
    this.isEmpty = first >= end;
    this.isWholeDay = first === 0 && end === minuteCount;
    const [firstSlot, endSlot] = [Math.ceil(first / minutesPerSlot), Math.floor(end / minutesPerSlot)];
    for (let slot = firstSlot; slot < endSlot; slot += 1) this.wholeSlots[slot] = 1;
    this.slotBuckets = slotBucketsOf(this.buckets);
    const hasEdges = first % minutesPerSlot !== 0 || end % minutesPerSlot !== 0;
    this.edges = hasEdges
      ? this.buckets.map((of, minute) =>
          this.wholeSlots[Math.floor(minute / minutesPerSlot)] ? outside : of,
        )
      : undefined;
  }
}

function slotBucketsOf(buckets: Int32Array): Int32Array {
  const bySlot = new Int32Array(slotCount);
  for (let slot = 0; slot < slotCount; slot += 1) bySlot[slot] = buckets[slot * minutesPerSlot]!;
  for (let minute = 0; minute < minuteCount; minute += 1) {
    const slot = Math.floor(minute / minutesPerSlot);
    if (buckets[minute] !== bySlot[slot]) bySlot[slot] = outside;
  }
  return bySlot;
}
