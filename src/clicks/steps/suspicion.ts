/**
 * Flags clicks that come faster than people click. They count like any other, and statistics say how many there are: an
 * owner wants to know of a flood, and a visitor who shares an address with a thousand colleagues must still be counted.
 *
 * A click is judged once, before it is stored, and the result is stored with it. So counting it again, in any process
 * and in any order, gives the same result. A process judges by the clicks that it has seen itself within a minute.
 *
 *   address   more clicks of one address than the rate allows, whatever it says it is
 *   agent     more clicks of one agent string than the rate allows, from few addresses: a popular browser makes any
 *             number of clicks, but its people make one or two a minute each
 */
import { type ClickSignal, clickSignals, signalNumber } from '../click.ts';

export interface SuspicionOptions {
  /** Clicks a minute beyond which they are suspicious; 0 for never. */
  readonly addressRate: number;
  readonly agentRate: number;
  /** One text for all addresses that one visitor may have. */
  readonly groupOf: (address: string) => string;
  /** Keeps clients from computing whose cells they share. */
  readonly seed: number;
}

/** The keys by which a visitor's clicks are counted, computed once. */
export interface SuspicionKeys {
  readonly address: number;
  readonly agent: number;
}

/** At 25,000 clicks a second this overestimates an address by at most some sixty clicks. */
const addressesWidth = 65_536;
const agentsWidth = 8_192;
/** An agent with this many clicks per address or more is not used by many people. */
const clicksPerAddress = 10;
/** A bit for each pair of agent and address: a million of them in a minute hide one in five. */
const pairBits = 22;

const [none, byAddress, byAgent] = clickSignals.map(signalNumber) as [number, number, number];

export class Suspicion {
  readonly #options: SuspicionOptions;
  readonly #addresses = new RateSketch({ width: addressesWidth });
  readonly #agents = new RateSketch({ width: agentsWidth });
  readonly #addressesOfAgents = new RateSketch({ width: agentsWidth });
  readonly #pairs = new Uint32Array(2 ** (pairBits - 5));
  #pairsEndAt = 0;
  readonly #found = new Float64Array(clickSignals.length);

  constructor(options: SuspicionOptions) {
    this.#options = options;
  }

  keysOf(address: string, userAgent: string): SuspicionKeys {
    const { groupOf, seed } = this.#options;
    return {
      address: Bun.hash.xxHash32(groupOf(address), seed),
      agent: Bun.hash.xxHash32(userAgent, seed),
    };
  }

  /** The number of the signal that a person's click gives. */
  judge(keys: SuspicionKeys, at: number): number {
    const isFast = this.#isFastAddress(keys, at);
    // Counted in any case, because the addresses of a fast agent may be fast, too.
    const isFastAgent = this.#isFastAgent(keys, at);
    const signal = isFast ? byAddress : isFastAgent ? byAgent : none;
    this.#found[signal]! += 1;
    return signal;
  }

  /** How many clicks were found to be suspicious, by what. */
  get found(): Readonly<Record<Exclude<ClickSignal, 'none'>, number>> {
    return { address: this.#found[byAddress]!, agent: this.#found[byAgent]! };
  }

  #isFastAddress({ address }: SuspicionKeys, at: number): boolean {
    const { addressRate } = this.#options;
    return addressRate > 0 && this.#addresses.add(address, at) > addressRate;
  }

  #isFastAgent(keys: SuspicionKeys, at: number): boolean {
    const { agentRate } = this.#options;
    if (agentRate === 0) return false;
    const clicks = this.#agents.add(keys.agent, at);
    const isNew = this.#isNewPair(keys, at);
    const addresses = isNew
      ? this.#addressesOfAgents.add(keys.agent, at)
      : this.#addressesOfAgents.rate(keys.agent, at);
    return clicks > agentRate && clicks > addresses * clicksPerAddress;
  }

  /** Whether an address is seen with an agent for the first time in this minute. */
  #isNewPair({ address, agent }: SuspicionKeys, at: number): boolean {
    if (isOutside(this.#pairsEndAt, at)) {
      this.#pairs.fill(0);
      this.#pairsEndAt = endOfMinute(at);
    }
    const bit = Math.imul(address ^ Math.imul(agent, 0x9e37_79b1), 0x85eb_ca6b) >>> (32 - pairBits);
    const mask = 1 << (bit & 31);
    const isNew = (this.#pairs[bit >>> 5]! & mask) === 0;
    this.#pairs[bit >>> 5]! |= mask;
    return isNew;
  }
}

/**
 * How often each of very many keys came within the last minute, in a fixed amount of memory: a count-min sketch of the
 * current minute and one of the minute before, weighted by how much of it the last sixty seconds still cover. A map
 * would be exact, but a client that invents keys could grow it without limit.
 *
 * Invariant: within a minute of the clock the sketch never reports a lower number for a key than it has. It may report
 * a higher one, when others share its cells in every row: by at most e/width of all that came in that minute, except
 * for one key in e^4.
 */
export interface RateSketchOptions {
  /** Cells in each row, a power of two up to 65,536. */
  readonly width: number;
}

const rows = 4;
const windowMs = 60_000;

/** The end of the minute that contains `at`. */
export const endOfMinute = (at: number): number => (Math.floor(at / windowMs) + 1) * windowMs;

/**
 * Whether the counts do not apply to this time. A click may come a moment late; after the clock was set they mean
 * nothing.
 */
export const isOutside = (endsAt: number, at: number): boolean => at >= endsAt || at < endsAt - 2 * windowMs;

export class RateSketch {
  readonly #width: number;
  /** Each cell is beside that of the minute before, because both are read together: one cache line has both. */
  readonly #cells: Uint32Array;
  /** When the current minute is over. */
  #endsAt = 0;

  constructor({ width }: RateSketchOptions) {
    this.#width = width;
    this.#cells = new Uint32Array(2 * rows * width);
  }

  /** Counts a key, a 32-bit hash, and returns how often it came in the minute until then, this time included. */
  add(key: number, at: number): number {
    return this.#count(key, at, 1);
  }

  /** How often a key came in the minute until then. */
  rate(key: number, at: number): number {
    return this.#count(key, at, 0);
  }

  /** Unrolled, because this runs several times for every click. */
  #count(key: number, at: number, more: 0 | 1): number {
    if (isOutside(this.#endsAt, at)) this.#turnTo(at);
    const width = this.#width;
    const cells = this.#cells;
    const mask = width - 1;
    // Both halves of the hash decide, so that two keys which meet in one row do not meet in the next.
    const step = (key >>> 16) | 1;
    const one = 2 * (key & mask);
    const two = 2 * (width + ((key + step) & mask));
    const three = 2 * (2 * width + ((key + 2 * step) & mask));
    const four = 2 * (3 * width + ((key + 3 * step) & mask));
    const count = least(cells[one]!, cells[two]!, cells[three]!, cells[four]!) + more;
    // Raise cells only as far as needed: higher ones are shared with other keys.
    if (cells[one]! < count) cells[one] = count;
    if (cells[two]! < count) cells[two] = count;
    if (cells[three]! < count) cells[three] = count;
    if (cells[four]! < count) cells[four] = count;
    const earlier = least(cells[one + 1]!, cells[two + 1]!, cells[three + 1]!, cells[four + 1]!);
    if (earlier === 0) return count;
    return count + Math.floor(earlier * Math.min(1, (this.#endsAt - at) / windowMs));
  }

  #turnTo(at: number): void {
    const endsAt = endOfMinute(at);
    const isNext = endsAt === this.#endsAt + windowMs;
    const cells = this.#cells;
    for (let cell = 0; cell < cells.length; cell += 2) {
      cells[cell + 1] = isNext ? cells[cell]! : 0;
      cells[cell] = 0;
    }
    this.#endsAt = endsAt;
  }
}

function least(one: number, two: number, three: number, four: number): number {
  const first = one < two ? one : two;
  const second = three < four ? three : four;
  return first < second ? first : second;
}
