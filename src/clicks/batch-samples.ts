/** Sample batches for tests of streams and warehouses. */
import type { Random } from '../base/random.ts';
import {
  type AgentTraits,
  type ClickBatch,
  type ClickSignal,
  type DeviceKind,
  kindNumber,
  type LinkEntry,
  noVisitTraits,
  type Place,
  type ReferrerTraits,
  signalNumber,
  type VisitKind,
  type VisitTraits,
} from './click.ts';

export interface SampleClick extends Partial<VisitTraits> {
  readonly at: number;
  readonly code?: string;
  readonly ownerId?: string | null;
  readonly tags?: readonly string[];
  readonly kind?: VisitKind;
  readonly signal?: ClickSignal;
  /** Any number; equal numbers are one visitor. */
  readonly visitor?: number;
  readonly country?: string;
  readonly region?: string;
  readonly city?: string;
  readonly browser?: string;
  readonly os?: string;
  readonly device?: DeviceKind;
  /** The domain. */
  readonly referrer?: string;
  /** The domain by default. */
  readonly referrerUrl?: string;
}

export const samplesStart = Date.UTC(2026, 5, 1, 12);

export function sampleBatch(firstSequence: number, clicks: readonly SampleClick[]): ClickBatch {
  const links = new Distinct<LinkEntry>();
  const agents = new Distinct<AgentTraits>();
  const referrers = new Distinct<ReferrerTraits>();
  const places = new Distinct<Place>();
  const visits = new Distinct<VisitTraits>();
  const words = (valueFor: (click: SampleClick) => number): Uint32Array => Uint32Array.from(clicks, valueFor);
  return {
    firstSequence,
    at: Float64Array.from(clicks, ({ at }) => at),
    kind: Uint8Array.from(clicks, ({ kind = 'human' }) => kindNumber(kind)),
    signal: Uint8Array.from(clicks, ({ signal = 'none' }) => signalNumber(signal)),
    visitorHigh: words(({ visitor = 0 }) => mix(visitor)),
    visitorLow: words(({ visitor = 0 }) => mix(visitor + 0x9e37_79b9)),
    link: words(({ code = 'abc', ownerId = 'acc_1', tags = [] }) => links.add({ code, ownerId, tags })),
    agent: words(click => agents.add(agentTraitsOf(click))),
    referrer: words(({ referrer = '', referrerUrl = referrer }) =>
      referrers.add({ referrer: referrerUrl, domain: referrer }),
    ),
    place: words(({ country = 'DE', region = '', city = '' }) => places.add({ country, region, city })),
    visit: words(click => visits.add(visitTraitsOf(click))),
    links: links.values,
    agents: agents.values,
    referrers: referrers.values,
    places: places.values,
    visits: visits.values,
  };
}

function agentTraitsOf({ browser = 'Firefox', os, device }: SampleClick): AgentTraits {
  const userAgent = ['UA of', browser, os, device].filter(part => part !== undefined).join(' ');
  return { userAgent, browser, os: os ?? 'Linux', device: device ?? 'desktop', kind: 'human' };
}

const visitTraitsOf = (click: SampleClick): VisitTraits =>
  Object.fromEntries(
    Object.entries(noVisitTraits).map(([name, none]) => [name, click[name as keyof VisitTraits] ?? none]),
  ) as Record<keyof VisitTraits, string>;

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
    region: pick('', 'Bavaria', 'Kyoto'),
    city: pick('', '', 'Munich', 'Kyoto'),
    browser: pick('Firefox', 'Chrome', 'Safari'),
    os: pick('Linux', 'Windows', ''),
    device: pick('desktop', 'mobile', 'tablet'),
    ...pick(
      { referrer: '', referrerUrl: '' },
      { referrer: 'news.example', referrerUrl: 'https://news.example/' },
      { referrer: 'news.example', referrerUrl: 'https://www.news.example/today' },
      { referrer: 'social.example', referrerUrl: 'https://social.example/feed' },
    ),
    signal: pick('none', 'none', 'none', 'address', 'agent'),
    language: pick('', 'de', 'en', 'pt'),
    utmSource: pick('', '', 'newsletter', 'poster'),
    utmMedium: pick('', '', 'email', 'print'),
    utmCampaign: pick('', '', 'spring sale', 'Frühling'),
    utmTerm: pick('', '', '', 'shoes'),
    utmContent: pick('', '', '', 'header', 'footer'),
    via: pick('', '', 'qr'),
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
