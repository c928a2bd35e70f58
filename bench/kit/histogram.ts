/**
 * Latencies in buckets one per cent wide: a quantile is exact to that, whatever the number of requests, and
 * recording one allocates nothing.
 */
const growth = 1.01;
const logGrowth = Math.log(growth);
/** Below this all values are one. */
const smallestUs = 1;
const largestUs = 60_000_000;
const bucketCount = Math.ceil(Math.log(largestUs / smallestUs) / logGrowth) + 1;

function bucketOf(latencyUs: number): number {
  const clampedUs = Math.min(Math.max(latencyUs, smallestUs), largestUs);
  return Math.floor(Math.log(clampedUs / smallestUs) / logGrowth);
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
    this.#counts[bucketOf(latencyUs)]! += 1;
    this.count += 1;
    if (latencyUs > this.maxUs) this.maxUs = latencyUs;
  }

  /**
   * Adds what a stall kept from being sent. A client that waits for each answer sends nothing during a stall and
   * so records it once, where visitors arriving every `intervalUs` would have met it again and again.
   */
  addOmitted(intervalUs: number): void {
    const recorded = this.#counts.slice();
    for (let bucket = 0; bucket < bucketCount; bucket += 1) {
      const repeats = recorded[bucket]!;
      const valueUs = smallestUs * growth ** (bucket + 0.5);
      for (let restUs = valueUs - intervalUs; repeats > 0 && restUs > intervalUs; restUs -= intervalUs) {
        this.#counts[bucketOf(restUs)]! += repeats;
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
      if (seen >= rank) return Math.min(smallestUs * growth ** (bucket + 1), this.maxUs);
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

  /** Forgets everything, to begin the next stretch of time. */
  clear(): void {
    this.#counts.fill(0);
    this.count = 0;
    this.maxUs = 0;
  }
}
