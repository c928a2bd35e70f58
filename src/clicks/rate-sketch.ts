/**
 * How often each of very many keys came within the last minute, in a fixed amount of memory: a count-min sketch of the
 * minute that runs and one of the minute before, of which as much counts as the last sixty seconds still reach into. A
 * map would be exact, and as large as anyone who invents keys wants it to be.
 *
 * Invariant: within a minute of the clock no key is told a lower number than it has. It may be told a higher one, when
 * others share its places in every row: by at most e/width of all that came in that minute, but for one in e^4.
 */
export interface RateSketchOptions {
  /** Places in each row, a power of two up to 65,536. */
  readonly width: number;
}

const rows = 4;
const windowMs = 60_000;

/** When the minute that a time lies in is over. */
export const endOfMinute = (at: number): number => (Math.floor(at / windowMs) + 1) * windowMs;

/** A click may come a moment late. A clock that was set is another matter: nothing that was counted means anything. */
export const isOutside = (endsAt: number, at: number): boolean => at >= endsAt || at < endsAt - 2 * windowMs;

export class RateSketch {
  readonly #width: number;
  #running: Uint32Array;
  #before: Uint32Array;
  /** When the minute that runs is over. */
  #endsAt = 0;

  constructor({ width }: RateSketchOptions) {
    this.#width = width;
    this.#running = new Uint32Array(rows * width);
    this.#before = new Uint32Array(rows * width);
  }

  /** Counts a key, which is a hash of 32 bits, and tells how often it came in the minute until then, this time included. */
  add(key: number, at: number): number {
    return this.#count(key, at, 1);
  }

  /** How often a key came in the minute until then. */
  rate(key: number, at: number): number {
    return this.#count(key, at, 0);
  }

  /** Written out row by row, because this runs several times for every click. */
  #count(key: number, at: number, more: 0 | 1): number {
    if (isOutside(this.#endsAt, at)) this.#turnTo(at);
    const width = this.#width;
    const running = this.#running;
    const before = this.#before;
    const mask = width - 1;
    // Both halves of the hash decide, so that two keys which meet in one row do not meet in the next.
    const step = (key >>> 16) | 1;
    const one = key & mask;
    const two = width + ((key + step) & mask);
    const three = 2 * width + ((key + 2 * step) & mask);
    const four = 3 * width + ((key + 3 * step) & mask);
    const count = least(running[one]!, running[two]!, running[three]!, running[four]!) + more;
    // Only as far as needed: places that stand higher belong to others as well, and stay accurate for them.
    if (running[one]! < count) running[one] = count;
    if (running[two]! < count) running[two] = count;
    if (running[three]! < count) running[three] = count;
    if (running[four]! < count) running[four] = count;
    const earlier = least(before[one]!, before[two]!, before[three]!, before[four]!);
    if (earlier === 0) return count;
    return count + Math.floor(earlier * Math.min(1, (this.#endsAt - at) / windowMs));
  }

  #turnTo(at: number): void {
    const endsAt = endOfMinute(at);
    [this.#before, this.#running] = [this.#running, this.#before];
    if (endsAt !== this.#endsAt + windowMs) this.#before.fill(0);
    this.#running.fill(0);
    this.#endsAt = endsAt;
  }
}

function least(one: number, two: number, three: number, four: number): number {
  const first = one < two ? one : two;
  const second = three < four ? three : four;
  return first < second ? first : second;
}
