/**
 * Millions of clicks for comparing engines: every dimension has values, links have owners and tags that change, some
 * clicks come days late, and one link has as many clicks as thousands of others. No list has more values in a day than a
 * warehouse keeps, so that every number can be compared.
 */
import { type Random, seededRandom } from '../../src/base/random.ts';
import {
  type AgentTraits,
  type ClickBatch,
  deviceKinds,
  humanKind,
  kindNumber,
  type LinkEntry,
  noVisitTraits,
  type Place,
  type ReferrerTraits,
  type VisitTraits,
} from '../../src/clicks/click.ts';
import { dimensions } from '../../src/clicks/dimensions.ts';
import { grainMs, type Scope } from '../../src/clicks/warehouse.ts';
import type { AskedWorld } from './random-questions.ts';

export interface TrafficOptions {
  readonly clicks: number;
  readonly from: number;
  readonly to: number;
  readonly seed: number;
}

const batchClicks = 8_192;
const linksMax = 20_000;
const linksPerOwner = 150;
const tagsPerOwner = 5;
const visitorsPerDay = 40_000;
const otherKinds = (['bot', 'preview', 'prefetch', 'head'] as const).map(kindNumber);
const tagChangesEvery = 7 * grainMs.day;

const named = (count: number, name: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => (index === 0 ? '' : name(index)));
const at = <Value>(values: readonly Value[], index: number): Value => values[index % values.length]!;

const browsers = named(12, index => `Browser ${index}`);
const systems = named(8, index => `System ${index}`);
const agents: readonly AgentTraits[] = Array.from({ length: 60 }, (_, index) => ({
  userAgent: `Agent/${index}`,
  browser: at(browsers, index),
  os: at(systems, Math.floor(index / 3)),
  device: at(deviceKinds, Math.floor(index / 7)),
  kind: 'human',
}));
const domains = named(150, index => `site-${index}.example`);
const referrers: readonly ReferrerTraits[] = Array.from({ length: 400 }, (_, index) => {
  const domain = at(domains, index);
  return {
    domain,
    referrer: domain === '' ? '' : `https://${domain}/${index % 5 === 0 ? '' : `page/${index}`}`,
  };
});
const places: readonly Place[] = Array.from({ length: 300 }, (_, index) => ({
  country: index % 60 === 0 ? '' : String.fromCharCode(65 + (index % 60) / 10, 65 + (index % 10)),
  region: at(
    named(40, number => `Region ${number}`),
    index,
  ),
  city: at(
    named(200, number => `Città ${number}`),
    Math.floor(index / 2),
  ),
}));
const languages = named(20, index => String.fromCharCode(97 + index, 98 + (index % 5)));
const visits: readonly VisitTraits[] = Array.from({ length: 200 }, (_, index) => ({
  ...noVisitTraits,
  language: at(languages, index),
  via: index % 9 === 4 ? 'qr' : '',
  ...(index % 3 === 1 && {
    utmSource: at(
      named(15, number => `source-${number}`),
      index,
    ),
    utmMedium: at(['email', 'Print', 'social'], index),
    utmCampaign: at(
      named(25, number => `Aktion Ä${number}`),
      index,
    ),
    utmTerm: at(
      named(10, number => `term ${number}`),
      Math.floor(index / 4),
    ),
    utmContent: at(
      named(6, number => `content ${number}`),
      Math.floor(index / 5),
    ),
  }),
}));
export const trafficLists = { agents, referrers, places, visits };

export class RandomTraffic {
  readonly #options: TrafficOptions;
  readonly #linkCount: number;

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#linkCount = Math.min(linksMax, Math.ceil(options.clicks / 100));
  }

  /** In the order in which they were stored. */
  *batches(): Generator<ClickBatch> {
    const { clicks, from, to, seed } = this.#options;
    const random = seededRandom(seed);
    const spacingMs = (to - from) / clicks;
    for (let first = 0; first < clicks; first += batchClicks) {
      const count = Math.min(batchClicks, clicks - first);
      yield this.#batch(random, first, count, index => from + (first + index) * spacingMs);
    }
  }

  #batch(random: Random, first: number, count: number, storedAt: (index: number) => number): ClickBatch {
    const below = (size: number, power = 1): number => Math.floor(random.float() ** power * size);
    const column = (of: () => number): Uint32Array => Uint32Array.from({ length: count }, of);
    const times = Float64Array.from({ length: count }, (_, index) => this.#timeOf(random, storedAt(index)));
    const visitors = Float64Array.from({ length: count }, () => below(visitorsPerDay, 2));
    const kind = Uint8Array.from({ length: count }, () =>
      random.float() < 0.8 ? humanKind : at(otherKinds, below(otherKinds.length)),
    );
    const links: LinkEntry[] = [];
    const positions = new Map<number, number>();
    const link = Uint32Array.from({ length: count }, (_, index) => {
      const number = random.float() < 0.15 ? 0 : below(this.#linkCount, 3);
      const week = Math.floor(times[index]! / tagChangesEvery) % 2;
      const known = positions.get(number * 2 + week);
      if (known !== undefined) return known;
      positions.set(number * 2 + week, links.length);
      return links.push(entryOf(number, week)) - 1;
    });
    const dayOf = (index: number): number => Math.floor(times[index]! / grainMs.day);
    return {
      firstSequence: first + 1,
      at: times,
      kind,
      signal: Uint8Array.from({ length: count }, () => (random.float() < 0.03 ? 1 + below(2) : 0)),
      visitorHigh: Uint32Array.from(visitors, (visitor, index) => scattered(visitor, dayOf(index))),
      visitorLow: Uint32Array.from(visitors, (visitor, index) =>
        scattered(visitor + 0x5bd1_e995, ~dayOf(index)),
      ),
      link,
      agent: column(() => below(agents.length, 2)),
      referrer: column(() => below(referrers.length, 3)),
      place: column(() => below(places.length, 2)),
      visit: column(() => below(visits.length, 2)),
      links,
      ...trafficLists,
    };
  }

  /** Clicks that were spilled come late. */
  #timeOf(random: Random, storedAt: number): number {
    const lateMs = random.float() < 0.01 ? random.float() * 2 * grainMs.day : random.float() * 2_000;
    return Math.floor(Math.max(this.#options.from, storedAt - lateMs));
  }

  world(): AskedWorld {
    const { from, to } = this.#options;
    const entries = Array.from({ length: this.#linkCount }, (_, number) => entryOf(number, 0));
    const ownerIds = [...new Set(entries.flatMap(({ ownerId }) => ownerId ?? []))];
    const lists: Readonly<Record<string, readonly unknown[]>> = {
      agent: agents,
      referrer: referrers,
      place: places,
      visit: visits,
      kind: ['human', 'bot', 'preview', 'prefetch', 'head'],
      link: entries.slice(0, 300),
    };
    return {
      from: Math.floor(from / grainMs.day) * grainMs.day,
      to: Math.ceil(to / grainMs.day) * grainMs.day,
      links: [
        ...entries.map(({ code, ownerId }): Scope => ({ kind: 'link', code, ownerId })),
        { kind: 'link', code: 'nobody', ownerId: null },
      ],
      owners: [...ownerIds, 'acc_unknown'].map(ownerId => ({ kind: 'owner', ownerId })),
      tags: ownerIds.flatMap(ownerId =>
        Array.from(
          { length: tagsPerOwner },
          (_, tag): Scope => ({ kind: 'tag', ownerId, tag: `tag ${tag}` }),
        ),
      ),
      values: Object.fromEntries(
        dimensions.map(({ name, of, value }) => [
          name,
          [...new Set(lists[of]!.map(value as unknown as (entry: unknown) => string))],
        ]),
      ),
    };
  }
}

/** Busy links are spread over all owners; some have none. */
function entryOf(number: number, week: number): LinkEntry {
  const owner = number % Math.ceil(linksMax / linksPerOwner);
  const tags = [number % tagsPerOwner, (number + week) % (tagsPerOwner + 2)]
    .filter((tag, index, all) => tag < tagsPerOwner && all.indexOf(tag) === index)
    .map(tag => `tag ${tag}`);
  return {
    code: `link${number}`,
    ownerId: owner === 13 ? null : `acc_${owner}`,
    tags: number % 4 === 3 ? [] : tags,
  };
}

/** 32 bits that look random, like those of a keyed hash. */
function scattered(value: number, salt: number): number {
  let word = Math.imul(value ^ Math.imul(salt, 0x9e37_79b1), 0x85eb_ca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2_ae35);
  word = Math.imul(word ^ (word >>> 16), 0x27d4_eb2f);
  return (word ^ (word >>> 15)) >>> 0;
}
