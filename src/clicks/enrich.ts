/**
 * From what the redirect noted to what is kept, a batch at a time: an ordered list of named steps, each filling
 * its column. What repeats is worked out once per string and not once per click. The addresses go in and do not
 * come out.
 *
 * Each step is timed over the whole batch, which costs two looks at the clock per thousand clicks.
 */
import type { Clock } from '../base/clock.ts';
import {
  type AgentTraits,
  type ClickBatch,
  humanKind,
  kindNumber,
  type LinkEntry,
  type Place,
  type ReferrerTraits,
} from './click.ts';
import type { RawBatch } from './recorder.ts';
import type { AgentDescriber } from './steps/agent.ts';
import type { Geo } from './steps/geo.ts';
import type { ReferrerDescriber } from './steps/referrer.ts';
import type { Suspicion, SuspicionKeys } from './steps/suspicion.ts';
import { kindOf } from './steps/visit-kind.ts';
import type { VisitorHasher } from './steps/visitor-hash.ts';

export interface BatchEnricherOptions {
  readonly agents: AgentDescriber;
  readonly referrers: ReferrerDescriber;
  readonly geo: Pick<Geo, 'locate'>;
  readonly visitors: VisitorHasher;
  readonly suspicion: Pick<Suspicion, 'keysOf' | 'judge'>;
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
const dayMs = 86_400_000;

/** A visitor as the numbering knows it; what follows from the address is worked out once. */
interface KnownVisitor {
  readonly address: string;
  readonly agent: AgentTraits;
  readonly place: Place;
  readonly keys: SuspicionKeys;
  /** The UTC day for which the hash was made. */
  day: number;
  hashHigh: number;
  hashLow: number;
}

/** What a batch looks like while the steps fill it. */
interface Draft {
  readonly raw: RawBatch;
  readonly link: Column<LinkEntry>;
  readonly agent: Column<AgentTraits>;
  readonly referrer: Column<ReferrerTraits>;
  readonly place: Column<Place>;
  readonly kind: Uint8Array;
  readonly signal: Uint8Array;
  readonly visitorHigh: Uint32Array;
  readonly visitorLow: Uint32Array;
}

export function createBatchEnricher(options: BatchEnricherOptions): BatchEnricher {
  const { agents, referrers, geo, visitors, suspicion, clock } = options;
  const places = new Map<string, Place>();
  let knownLinks: LinkEntry[] = [];
  let knownAgents: AgentTraits[] = [];
  let knownReferrers: ReferrerTraits[] = [];
  let knownVisitors: KnownVisitor[] = [];

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
      if (raw.forgetStrings) {
        [knownLinks, knownAgents, knownReferrers, knownVisitors] = [[], [], [], []];
      }
      for (const link of raw.newLinks) knownLinks.push(link);
      for (const agent of raw.newAgents) knownAgents.push(agents(agent));
      for (const referrer of raw.newReferrers) knownReferrers.push(referrers(referrer));
    },
    geo({ raw: { newVisitors } }) {
      const { addresses, agents: agentNumbers } = newVisitors;
      if (agentNumbers.length === 0) return;
      for (const [index, address] of addresses.split('\n').entries()) {
        const agent = knownAgents[agentNumbers[index]!]!;
        const place = samePlace(geo.locate(address));
        const keys = suspicion.keysOf(address, agent.userAgent);
        knownVisitors.push({ address, agent, place, keys, day: -1, hashHigh: 0, hashLow: 0 });
      }
    },
    columns({ raw, link, agent, referrer, place }) {
      link.fill(raw.link, knownLinks.length, number => knownLinks[number]!);
      referrer.fill(raw.referrer, knownReferrers.length, number => knownReferrers[number]!);
      agent.fill(raw.visitor, knownVisitors.length, number => knownVisitors[number]!.agent);
      place.fill(raw.visitor, knownVisitors.length, number => knownVisitors[number]!.place);
    },
    kind({ raw, kind, agent }) {
      for (let index = 0; index < kind.length; index += 1) {
        kind[index] = kindNumber(kindOf(raw.flags[index]!, agent.at(index)));
      }
    },
    visitor({ raw, visitorHigh, visitorLow }) {
      for (let index = 0; index < raw.at.length; index += 1) {
        const known = knownVisitors[raw.visitor[index]!]!;
        const at = raw.at[index]!;
        const day = Math.floor(at / dayMs);
        if (known.day !== day) {
          const hash = visitors.visitorOf(known.address, known.agent.userAgent, at);
          known.day = day;
          known.hashHigh = Number.parseInt(hash.slice(0, 8), 16);
          known.hashLow = Number.parseInt(hash.slice(8), 16);
        }
        visitorHigh[index] = known.hashHigh;
        visitorLow[index] = known.hashLow;
      }
    },
    signal({ raw, kind, signal }) {
      for (let index = 0; index < kind.length; index += 1) {
        if (kind[index] !== humanKind) continue;
        signal[index] = suspicion.judge(knownVisitors[raw.visitor[index]!]!.keys, raw.at[index]!);
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
    link: new Column(count),
    agent: new Column(count),
    referrer: new Column(count),
    place: new Column(count),
    kind: new Uint8Array(count),
    signal: new Uint8Array(count),
    visitorHigh: new Uint32Array(count),
    visitorLow: new Uint32Array(count),
  };
}

function batchOf(draft: Draft): ClickBatch {
  const { raw, link, agent, referrer, place, kind, signal, visitorHigh, visitorLow } = draft;
  return {
    firstSequence: raw.firstSequence,
    at: raw.at,
    kind,
    signal,
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

  /** `numbersMax` is above all numbers. Each number is looked at once; different ones may stand for one value. */
  fill(numbers: Uint32Array, numbersMax: number, valueFor: (number: number) => Value): void {
    // One more than the position, so that zero says that the number was not met yet.
    const met = new Uint32Array(numbersMax);
    for (let index = 0; index < numbers.length; index += 1) {
      const number = numbers[index]!;
      let above = met[number]!;
      if (above === 0) {
        above = this.#positionFor(valueFor(number)) + 1;
        met[number] = above;
      }
      this.positions[index] = above - 1;
    }
  }

  #positionFor(value: Value): number {
    const known = this.#positionOf.get(value);
    if (known !== undefined) return known;
    const position = this.values.length;
    this.values.push(value);
    this.#positionOf.set(value, position);
    return position;
  }
}
