/**
 * From what the redirect noted to what is kept, a batch at a time: an ordered list of named steps, each filling
 * its column. What repeats is worked out once per string and not once per click. The addresses go in and do not
 * come out.
 *
 * Each step is timed over the whole batch, which costs two looks at the clock per thousand clicks.
 */
import type { Clock } from '../base/clock.ts';
import type { ClickBatch, LinkEntry, Place } from './batch.ts';
import { kindNumber } from './batch.ts';
import type { AgentTraits, ReferrerTraits } from './click.ts';
import type { RawBatch } from './raw-batch.ts';
import type { AgentDescriber } from './steps/agent.ts';
import type { Geo } from './steps/geo.ts';
import type { ReferrerDescriber } from './steps/referrer.ts';
import { kindOf } from './steps/visit-kind.ts';
import type { VisitorHasher } from './steps/visitor.ts';

export interface BatchEnricherOptions {
  readonly agents: AgentDescriber;
  readonly referrers: ReferrerDescriber;
  readonly geo: Pick<Geo, 'locate'>;
  readonly visitors: VisitorHasher;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

export interface StepReport {
  readonly name: string;
  /** Clicks that went through the step. */
  readonly clicks: number;
  readonly milliseconds: number;
}

export interface BatchEnricher {
  enrich(raw: RawBatch): ClickBatch;
  steps(): StepReport[];
}

const placesMax = 50_000;

/** What a batch looks like while the steps fill it. */
interface Draft {
  readonly raw: RawBatch;
  readonly addresses: readonly string[];
  readonly link: Column<LinkEntry>;
  readonly agent: Column<AgentTraits>;
  readonly referrer: Column<ReferrerTraits>;
  readonly place: Column<Place>;
  readonly kind: Uint8Array;
  readonly visitorHigh: Uint32Array;
  readonly visitorLow: Uint32Array;
}

export function createBatchEnricher(options: BatchEnricherOptions): BatchEnricher {
  const { agents, referrers, geo, visitors, clock } = options;
  const places = new Map<string, Place>();
  let knownLinks: LinkEntry[] = [];
  let knownAgents: AgentTraits[] = [];
  let knownReferrers: ReferrerTraits[] = [];

  /** Many addresses are in one place, and a place stands once in a batch. */
  const samePlace = (place: Place): Place => {
    const key = `${place.country}\t${place.city}`;
    const known = places.get(key);
    if (known !== undefined) return known;
    if (places.size >= placesMax) places.clear();
    places.set(key, place);
    return place;
  };

  /** In the order in which they run; a later step may use what an earlier one has found. */
  const steps: Record<string, (draft: Draft) => void> = {
    strings({ raw }) {
      if (raw.forgetStrings) [knownLinks, knownAgents, knownReferrers] = [[], [], []];
      for (const link of raw.newLinks) knownLinks.push(link);
      for (const agent of raw.newAgents) knownAgents.push(agents(agent));
      for (const referrer of raw.newReferrers) knownReferrers.push(referrers(referrer));
    },
    columns({ raw, link, agent, referrer }) {
      link.fill(raw.link, number => knownLinks[number]!);
      agent.fill(raw.agent, number => knownAgents[number]!);
      referrer.fill(raw.referrer, number => knownReferrers[number]!);
    },
    kind({ raw, kind, agent }) {
      for (let index = 0; index < kind.length; index += 1) {
        kind[index] = kindNumber(kindOf(raw.flags[index]!, agent.at(index)));
      }
    },
    geo({ addresses, place }) {
      for (let index = 0; index < addresses.length; index += 1)
        place.set(index, samePlace(geo.locate(addresses[index]!)));
    },
    visitor({ raw, addresses, agent, visitorHigh, visitorLow }) {
      for (let index = 0; index < addresses.length; index += 1) {
        const hash = visitors.visitorOf(addresses[index]!, agent.at(index).userAgent, raw.at[index]!);
        visitorHigh[index] = Number.parseInt(hash.slice(0, 8), 16);
        visitorLow[index] = Number.parseInt(hash.slice(8), 16);
      }
    },
  };
  const reports = Object.keys(steps).map(name => ({ name, clicks: 0, milliseconds: 0 }));

  return {
    enrich(raw) {
      const draft = emptyDraft(raw);
      for (const report of reports) {
        const startedMs = clock.monotonicMs();
        steps[report.name]!(draft);
        report.clicks += raw.at.length;
        report.milliseconds += clock.monotonicMs() - startedMs;
      }
      return batchOf(draft);
    },
    steps: () => reports.map(report => ({ ...report })),
  };
}

function emptyDraft(raw: RawBatch): Draft {
  const count = raw.at.length;
  return {
    raw,
    addresses: raw.addresses.split('\n'),
    link: new Column(count),
    agent: new Column(count),
    referrer: new Column(count),
    place: new Column(count),
    kind: new Uint8Array(count),
    visitorHigh: new Uint32Array(count),
    visitorLow: new Uint32Array(count),
  };
}

function batchOf({ raw, link, agent, referrer, place, kind, visitorHigh, visitorLow }: Draft): ClickBatch {
  return {
    firstSequence: raw.firstSequence,
    at: raw.at,
    kind,
    visitorHigh,
    visitorLow,
    link: link.positions,
    agent: agent.positions,
    referrer: referrer.positions,
    place: place.positions,
    links: link.values,
    agents: agent.values,
    referrers: referrer.values,
    places: place.values,
  };
}

/** A column of values that repeat: each value once, and for each click where it stands. */
class Column<Value extends object> {
  readonly values: Value[] = [];
  readonly positions: Uint32Array;
  readonly #positionOf = new Map<Value, number>();

  constructor(count: number) {
    this.positions = new Uint32Array(count);
  }

  at(index: number): Value {
    return this.values[this.positions[index]!]!;
  }

  set(index: number, value: Value): void {
    let position = this.#positionOf.get(value);
    if (position === undefined) {
      position = this.values.length;
      this.values.push(value);
      this.#positionOf.set(value, position);
    }
    this.positions[index] = position;
  }

  fill(numbers: Uint32Array, valueFor: (number: number) => Value): void {
    for (let index = 0; index < numbers.length; index += 1) this.set(index, valueFor(numbers[index]!));
  }
}
