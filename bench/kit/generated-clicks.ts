/**
 * Millions of clicks, in batches like those of the recorder: columns, with repeated values in lists. Visitors are
 * counted exactly while they are drawn, so that estimates can be compared with the truth.
 */
import { seededRandom } from '../../src/base/random.ts';
import {
  type ClickBatch,
  humanKind,
  kindNumber,
  type LinkEntry,
  noVisitTraits,
  type Place,
  type ReferrerTraits,
  signalNumber,
  type VisitTraits,
} from '../../src/clicks/click.ts';
import { agentSamples } from '../../src/clicks/steps/agent-samples.ts';
import { grainMs } from '../../src/clicks/warehouse.ts';

export interface Traffic {
  readonly clicks: number;
  readonly from: number;
  readonly to: number;
  /** Different people who may come on any day. */
  readonly visitorsPerDay: number;
  readonly linkCount: number;
  linkAt(index: number): LinkEntry;
}

export const batchClicks = 8_192;

const agents = agentSamples.map(({ userAgent, browser, os, device, kind }) => ({
  userAgent,
  browser,
  os,
  device,
  kind,
}));
const humanAgents = agents.map((_, index) => index).filter(index => agents[index]!.kind === 'human');
const botAgents = agents.map((_, index) => index).filter(index => agents[index]!.kind !== 'human');
const botShare = 0.2;
/** The share of visits without a referrer. */
const directShare = 0.4;
/** One in this many visitors clicks too fast. */
const suspiciousEvery = 32;

const referrers: readonly ReferrerTraits[] = Array.from({ length: 200 }, (_, index) => {
  const domain = index === 0 ? '' : `site-${index}.example.com`;
  return { domain, referrer: domain === '' ? '' : `https://${domain}/` };
});
/** Forty countries with six cities each. */
const citiesPerCountry = 6;
const places: readonly Place[] = Array.from({ length: 40 * citiesPerCountry }, (_, index) => {
  const country = Math.floor(index / citiesPerCountry);
  const city = index % citiesPerCountry;
  return {
    country: String.fromCharCode(65 + Math.floor(country / 10), 65 + (country % 10)),
    region: city === 5 ? '' : `Region ${country}-${city % 3}`,
    city: city >= 4 ? '' : `City ${country}-${city}`,
  };
});

const languages = [
  'en',
  'de',
  'fr',
  'es',
  'pt',
  'ja',
  'zh',
  'ko',
  'it',
  'nl',
  'pl',
  'ru',
  'tr',
  'ar',
  'hi',
  'sv',
];
/** Most visits have no campaign; the others are of one of a dozen, with the terms and contents that it has. */
const campaigns: readonly Partial<VisitTraits>[] = [
  {},
  { via: 'qr' },
  ...Array.from({ length: 12 }, (_, index) => ({
    utmSource: `source${index % 4}`,
    utmMedium: index % 3 === 0 ? 'email' : 'social',
    utmCampaign: `sale${index % 5}`,
    ...(index % 2 === 0 && { utmTerm: 'shoes', utmContent: `header${index % 3}` }),
  })),
];
const campaignShare = 0.25;
const visits: readonly VisitTraits[] = languages.flatMap(language =>
  campaigns.map(campaign => ({ ...noVisitTraits, language, ...campaign })),
);
/** The share of visitors with the language of their country. */
const nativeShare = 0.9;

/** The distinct visitors of all days so far; a visitor of two days is two. */
export class VisitorTruth {
  readonly #seen: Uint8Array;
  #day = Number.NaN;
  distinct = 0;

  constructor(visitorsPerDay: number) {
    this.#seen = new Uint8Array(visitorsPerDay);
  }

  note(day: number, visitor: number): void {
    if (day !== this.#day) this.#seen.fill(0);
    this.#day = day;
    if (this.#seen[visitor] === 1) return;
    this.#seen[visitor] = 1;
    this.distinct += 1;
  }
}

/** Batches in the order of time, evenly spread over it. */
export function* generatedBatches(
  { clicks, from, to, visitorsPerDay, linkCount, linkAt }: Traffic,
  firstSequence: number,
  truth: VisitorTruth,
): Generator<ClickBatch> {
  const random = seededRandom(firstSequence);
  const spacingMs = (to - from) / clicks;
  for (let first = 0; first < clicks; first += batchClicks) {
    const count = Math.min(batchClicks, clicks - first);
    const column = (): Uint32Array => new Uint32Array(count);
    const [visitorHigh, visitorLow, link, agent, referrer, place, visit] = [
      column(),
      column(),
      column(),
      column(),
      column(),
      column(),
      column(),
    ];
    const at = new Float64Array(count);
    const kind = new Uint8Array(count);
    const signal = new Uint8Array(count);
    const links: LinkEntry[] = [];
    const positions = new Map<number, number>();
    for (let index = 0; index < count; index += 1) {
      const time = Math.floor(from + (first + index) * spacingMs);
      const day = Math.floor(time / grainMs.day);
      const isHuman = random.float() >= botShare;
      const visitor = Math.floor(random.float() * visitorsPerDay);
      if (isHuman) truth.note(day, visitor);
      // A visitor's place and agent do not change from click to click.
      const own = isHuman ? humanAgents : botAgents;
      const placed = zipfAt(shareOf(visitor, 1), places.length);
      const isNative = shareOf(visitor, 2) < nativeShare;
      const language = isNative
        ? Math.floor(placed / citiesPerCountry)
        : Math.floor(shareOf(visitor, 3) * 997);
      const campaign = random.float() < campaignShare ? 1 + zipfAt(random.float(), campaigns.length - 1) : 0;
      at[index] = time;
      kind[index] = isHuman ? humanKind : kindNumber('bot');
      if (isHuman && visitor % suspiciousEvery === 0) signal[index] = signalNumber('address');
      visitorHigh[index] = scattered(visitor, day);
      visitorLow[index] = scattered(visitor + 0x5bd1_e995, ~day);
      agent[index] = own[zipfAt(shareOf(visitor, 4), own.length)]!;
      referrer[index] = random.float() < directShare ? 0 : zipfAt(random.float(), referrers.length);
      place[index] = placed;
      visit[index] = (language % languages.length) * campaigns.length + campaign;
      const number = linkCount === 1 ? 0 : (first + index) % linkCount;
      let position = positions.get(number);
      if (position === undefined) {
        position = links.push(linkAt(number)) - 1;
        positions.set(number, position);
      }
      link[index] = position;
    }
    yield {
      firstSequence: firstSequence + first,
      at,
      kind,
      signal,
      visitorHigh,
      visitorLow,
      link,
      agent,
      referrer,
      place,
      visit,
      links,
      agents,
      referrers,
      places,
      visits,
    };
  }
}

/** An index below `count`, distributed by Zipf: the first is twice as frequent as the second. */
const zipfAt = (share: number, count: number): number => Math.floor((count + 1) ** share) - 1;

/** A constant number in [0, 1) of a visitor. */
const shareOf = (visitor: number, what: number): number => scattered(visitor, what) / 0x1_0000_0000;

/** 32 bits that look random, like those of a keyed hash. */
function scattered(value: number, salt: number): number {
  let word = Math.imul(value ^ Math.imul(salt, 0x9e37_79b1), 0x85eb_ca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2_ae35);
  word = Math.imul(word ^ (word >>> 16), 0x27d4_eb2f);
  return (word ^ (word >>> 15)) >>> 0;
}
