/**
 * Which clicks come at a pace that people do not have. They count like any other, and statistics say how many of them
 * there are: whoever sees a flood wants to know of it, and whoever sits behind one address with a thousand colleagues
 * should not go uncounted.
 *
 * It is judged once, before a click is stored, and kept with it. So counting a click again, by whomever and in whatever
 * order, finds the same judgement. What a process judges by is what it has seen itself within a minute.
 *
 *   address   more clicks of one address than the rate allows, whatever it says it is
 *   agent     more clicks of one agent string than the rate allows, from few addresses: a popular browser makes any
 *             number of clicks, but its people make one or two a minute each
 */
import { signalNumber } from '../batch.ts';
import { type ClickSignal, clickSignals } from '../click.ts';
import { endOfMinute, isOutside, RateSketch } from '../rate-sketch.ts';

export interface SuspicionOptions {
  /** Clicks a minute beyond which they are suspicious; 0 for never. */
  readonly addressRate: number;
  readonly agentRate: number;
  /** One text for all addresses that one visitor may have. */
  readonly groupOf: (address: string) => string;
  /** Keeps others from finding out whose counts they would share. */
  readonly seed: number;
}

/** What is counted of a visitor, worked out once. */
export interface SuspicionKeys {
  readonly address: number;
  readonly agent: number;
}

/** At 25,000 clicks a second this tells an address at most some sixty clicks too many. */
const addressesWidth = 65_536;
const agentsWidth = 8_192;
/** Clicks for each address of an agent, from which on its rate is not that of many people. */
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
    // Counted in any case: an agent's addresses are among those that are fast.
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
