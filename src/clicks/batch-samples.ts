/** Batches that the tests of streams and warehouses are made of. */
import type { Random } from '../base/random.ts';
import {
  type AgentTraits,
  type ClickBatch,
  type ClickSignal,
  kindNumber,
  type LinkEntry,
  type Place,
  type ReferrerTraits,
  signalNumber,
  type VisitKind,
} from './click.ts';

export interface SampleClick {
  readonly at: number;
  readonly code?: string;
  readonly ownerId?: string | null;
  readonly tags?: readonly string[];
  readonly kind?: VisitKind;
  readonly signal?: ClickSignal;
  /** Any number; equal numbers are one visitor. */
  readonly visitor?: number;
  readonly country?: string;
  readonly browser?: string;
  readonly referrer?: string;
}

export const samplesStart = Date.UTC(2026, 5, 1, 12);

export function sampleBatch(firstSequence: number, clicks: readonly SampleClick[]): ClickBatch {
  const links = new Distinct<LinkEntry>();
  const agents = new Distinct<AgentTraits>();
  const referrers = new Distinct<ReferrerTraits>();
  const places = new Distinct<Place>();
  const words = (valueFor: (click: SampleClick) => number): Uint32Array => Uint32Array.from(clicks, valueFor);
  return {
    firstSequence,
    at: Float64Array.from(clicks, ({ at }) => at),
    kind: Uint8Array.from(clicks, ({ kind = 'human' }) => kindNumber(kind)),
    signal: Uint8Array.from(clicks, ({ signal = 'none' }) => signalNumber(signal)),
    visitorHigh: words(({ visitor = 0 }) => mix(visitor)),
    visitorLow: words(({ visitor = 0 }) => mix(visitor + 0x9e37_79b9)),
    link: words(({ code = 'abc', ownerId = 'acc_1', tags = [] }) => links.add({ code, ownerId, tags })),
    agent: words(({ browser = 'Firefox' }) =>
      agents.add({ userAgent: `UA of ${browser}`, browser, os: 'Linux', device: 'desktop', kind: 'human' }),
    ),
    referrer: words(({ referrer = '' }) => referrers.add({ referrer, domain: referrer })),
    place: words(({ country = 'DE' }) => places.add({ country, city: '' })),
    links: links.values,
    agents: agents.values,
    referrers: referrers.values,
    places: places.values,
  };
}

/** Traffic with everything in it: several links, owners, tags, kinds, signals and days. */
export function randomClicks(random: Random, count: number, days = 3): SampleClick[] {
  const pick = <Value>(...values: Value[]): Value => values[Math.floor(random.float() * values.length)]!;
  return Array.from({ length: count }, () => ({
    at: samplesStart + Math.floor(random.float() * days * 24 * 60 * 60_000),
    code: `link${Math.floor(random.float() ** 3 * 20)}`,
    ownerId: pick('acc_1', 'acc_2', null),
    tags: pick([], ['a'], ['a', 'b']),
    kind: pick('human', 'human', 'human', 'bot', 'preview', 'head', 'prefetch'),
    visitor: Math.floor(random.float() * 500),
    country: pick('DE', 'US', 'JP', ''),
    browser: pick('Firefox', 'Chrome', 'Safari'),
    referrer: pick('', 'news.example', 'social.example'),
    signal: pick('none', 'none', 'none', 'address', 'agent'),
  }));
}

/** A well-spread 32-bit word for a number, as a hash would give. */
function mix(value: number): number {
  let word = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2_ae35);
  return (word ^ (word >>> 16)) >>> 0;
}

class Distinct<Value> {
  readonly values: Value[] = [];
  readonly #positions = new Map<string, number>();

  add(value: Value): number {
    const key = JSON.stringify(value);
    const known = this.#positions.get(key);
    if (known !== undefined) return known;
    this.#positions.set(key, this.values.length);
    return this.values.push(value) - 1;
  }
}
