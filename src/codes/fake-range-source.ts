import type { RangeSource } from './generator.ts';
import type { LeasedRange } from './key-pool.ts';

/**
 * An allocator for tests: hands out consecutive ids like a store; a test can make it slow or unavailable and say which
 * ids aliases have claimed.
 */
export class FakeRangeSource implements RangeSource {
  /** Leases requested, granted or not. */
  asked = 0;
  /** Leases requested and not yet answered. */
  pending = 0;
  pendingMost = 0;
  down = false;
  claimed: readonly number[] = [];

  #mark: number | undefined;
  #held: (() => void)[] | undefined;

  /** From now on leases wait for `release`. */
  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const go of held) go();
  }

  async leaseRange(_length: number, size: number, limit: number, first = 0): Promise<LeasedRange> {
    this.asked += 1;
    this.pending += 1;
    this.pendingMost = Math.max(this.pendingMost, this.pending);
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#held === undefined) resolve();
    else this.#held.push(resolve);
    await promise;
    this.pending -= 1;
    if (this.down) throw new Error('the allocator is down');
    const from = this.#mark ?? first;
    const to = Math.min(from + size, limit);
    this.#mark = to;
    return { from, to, claimed: this.claimed.filter(id => id >= from && id < to) };
  }
}
