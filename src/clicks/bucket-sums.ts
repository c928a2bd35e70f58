/** Counts that belong to the same time, added up: those of several scopes, or of rows that an engine has not merged. */
import type { Bucket } from './warehouse.ts';

export class BucketSums {
  readonly #byStart = new Map<number, { -readonly [Field in keyof Bucket]: Bucket[Field] }>();

  add({ start, clicks, bots, suspicious }: Bucket): void {
    const known = this.#byStart.get(start);
    if (known === undefined) {
      this.#byStart.set(start, { start, clicks, bots, suspicious });
      return;
    }
    known.clicks += clicks;
    known.bots += bots;
    known.suspicious += suspicious;
  }

  /** In the order of time. */
  all(): Bucket[] {
    return [...this.#byStart.values()].sort((one, other) => one.start - other.start);
  }
}
