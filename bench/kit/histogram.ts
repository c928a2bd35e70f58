/**
 * Latencies in buckets with a width of less than one per cent: quantiles have that precision, whatever the number of
 * requests, and recording allocates nothing. Between two powers of two all buckets are equally wide, so finding one
 * takes a few instructions; paced-client.c has the same buckets.
 */
export const subBucketCount = 128;
const largestNs = 60e9;
export const bucketCount = bucketOf(largestNs) + 1;

function bucketOf(latencyNs: number): number {
  const clampedNs = Math.min(Math.max(latencyNs, 0), largestNs);
  const shift = Math.max(0, Math.floor(Math.log2(clampedNs / subBucketCount)));
  return shift * subBucketCount + Math.floor(clampedNs / 2 ** shift);
}

/** Where a bucket ends and the next one begins. */
function bucketEndNs(bucket: number): number {
  const shift = Math.max(0, Math.floor(bucket / subBucketCount) - 1);
  return (bucket - shift * subBucketCount + 1) * 2 ** shift;
}

export interface Latencies {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

export class Histogram {
  readonly #counts = new Float64Array(bucketCount);
  count = 0;
  maxUs = 0;

  record(latencyUs: number): void {
    this.#counts[bucketOf(latencyUs * 1_000)]! += 1;
    this.count += 1;
    if (latencyUs > this.maxUs) this.maxUs = latencyUs;
  }

  /** Merges another histogram with the same buckets. */
  addCounts(counts: ArrayLike<number>, maxUs: number): void {
    for (let bucket = 0; bucket < bucketCount; bucket += 1) {
      this.#counts[bucket]! += counts[bucket]!;
      this.count += counts[bucket]!;
    }
    if (maxUs > this.maxUs) this.maxUs = maxUs;
  }

  /**
   * Adds the requests that a stall prevented (coordinated omission). A client that waits for each answer records a
   * stall only once, but visitors arriving every `intervalUs` would all have waited.
   */
  addOmitted(intervalUs: number): void {
    const recorded = this.#counts.slice();
    for (let bucket = 0; bucket < bucketCount; bucket += 1) {
      const repeats = recorded[bucket]!;
      const valueUs = (bucketEndNs(bucket - 1) + bucketEndNs(bucket)) / 2_000;
      for (let restUs = valueUs - intervalUs; repeats > 0 && restUs > intervalUs; restUs -= intervalUs) {
        this.#counts[bucketOf(restUs * 1_000)]! += repeats;
        this.count += repeats;
      }
    }
  }

  /** The latency that this share of the requests did not exceed; 0 when there were none. */
  quantileUs(share: number): number {
    const rank = Math.ceil(this.count * share);
    let seen = 0;
    for (let bucket = 0; bucket < bucketCount && this.count > 0; bucket += 1) {
      seen += this.#counts[bucket]!;
      if (seen >= rank) return Math.min(bucketEndNs(bucket) / 1_000, this.maxUs);
    }
    return 0;
  }

  latencies(): Latencies {
    return {
      count: this.count,
      p50Ms: this.quantileUs(0.5) / 1_000,
      p99Ms: this.quantileUs(0.99) / 1_000,
      p999Ms: this.quantileUs(0.999) / 1_000,
      maxMs: this.maxUs / 1_000,
    };
  }

  /** Clears all counts, before the next interval. */
  clear(): void {
    this.#counts.fill(0);
    this.count = 0;
    this.maxUs = 0;
  }
}
