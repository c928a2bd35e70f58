/**
 * Turns raw clicks into enriched ones, a batch at a time: an ordered list of named steps, each of which fills its
 * column. Repeated strings are analysed once, not once per click. Addresses go in and do not come out.
 *
 * Each step is timed over the whole batch, which costs two reads of the clock per thousand clicks.
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
  type VisitTraits,
} from './click.ts';
import type { LinkLabels } from './new-links.ts';
import { unpackTexts } from './packed-texts.ts';
import type { RawBatch } from './recorder.ts';
import type { AgentDescriber } from './steps/agent.ts';
import type { Geo } from './steps/geo.ts';
import type { ReferrerDescriber } from './steps/referrer.ts';
import type { Suspicion, SuspicionKeys } from './steps/suspicion.ts';
import {
  kindOf,
  languageOf,
  noQueryTraits,
  type QueryTraits,
  queryTraitsOf,
  visitKey,
  visitTraitsOf,
} from './steps/visit.ts';
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

/** How many different visits are remembered; the recorder bounds the number of everything else. */
const visitsMax = 10_000;
const dayMs = 86_400_000;
/** There are fewer languages and queries than this, and few enough labels that three numbers fit into one. */
const numbersMax = 2 ** 17;

/** A visitor of the current numbering; everything that follows from the address is computed once. */
interface KnownVisitor {
  readonly address: string;
  /** Numbers in the lists of `Known`. */
  readonly agent: number;
  readonly place: number;
  readonly language: number;
  readonly keys: SuspicionKeys;
  /** The UTC day for which the hash was made. */
  day: number;
  hashHigh: number;
  hashLow: number;
}

/** Labels that links of a numbering share. */
interface KnownLabels {
  readonly tags: readonly string[];
  readonly destination: QueryTraits;
}

const noLabels: KnownLabels = { tags: [], destination: noQueryTraits };

/** The meaning of the numbers in raw batches, until the numbering restarts. */
class Known {
  readonly links: LinkEntry[] = [];
  /** The number of each link's labels. */
  readonly linkLabels: number[] = [];
  readonly owners: (string | null)[] = [];
  readonly labels: KnownLabels[] = [];
  readonly agents: AgentTraits[] = [];
  /** The number of each agent's kind. */
  readonly agentKinds: number[] = [];
  readonly referrers: ReferrerTraits[] = [];
  readonly languages: string[] = [];
  readonly queries: QueryTraits[] = [];
  readonly visitors: KnownVisitor[] = [];
}

/** A batch while the steps fill it. */
interface Draft {
  readonly raw: RawBatch;
  /** Numbers in the lists of `Known`; the last step turns them into positions in the batch's own lists. */
  readonly link: Uint32Array;
  readonly agent: Uint32Array;
  readonly referrer: Uint32Array;
  readonly place: Uint32Array;
  readonly visit: Uint32Array;
  lists: Pick<ClickBatch, 'links' | 'agents' | 'referrers' | 'places' | 'visits'>;
  readonly kind: Uint8Array;
  readonly signal: Uint8Array;
  readonly visitorHigh: Uint32Array;
  readonly visitorLow: Uint32Array;
}

export function createBatchEnricher(options: BatchEnricherOptions): BatchEnricher {
  const { agents, referrers, geo, visitors, suspicion, clock } = options;
  const places = new Catalog<Place>();
  const visits = new Catalog<VisitTraits>();
  /** The visit of a language, a query and labels, by their numbers. */
  const visitNumbers = new Map<number, number>();
  const listMaker = new ListMaker();
  let known = new Known();

  function forget(): void {
    known = new Known();
    places.clear();
    forgetVisits();
  }

  function forgetVisits(): void {
    visits.clear();
    visitNumbers.clear();
  }

  function learnLinks({ newLinks }: RawBatch): void {
    const { owners, labels, newOwners, newLabels } = newLinks;
    for (const owner of newOwners) known.owners.push(owner === '' ? null : owner);
    for (const text of newLabels) known.labels.push(labelsOf(text));
    const codes = unpackTexts(newLinks.codes);
    for (let index = 0; index < codes.length; index += 1) {
      const label = labels[index] ?? 0;
      known.links.push({
        code: codes[index]!,
        ownerId: known.owners[owners[index]!]!,
        tags: known.labels[label]!.tags,
      });
      known.linkLabels.push(label);
    }
  }

  function visitNumberOf(language: number, query: number, labels: number): number {
    const key = (labels * numbersMax + query) * numbersMax + language;
    const number = visitNumbers.get(key);
    if (number !== undefined) return number;
    const visit = visitTraitsOf(
      known.languages[language]!,
      known.queries[query]!,
      known.labels[labels]!.destination,
    );
    const added = visits.numberOf(visitKey(visit), visit);
    visitNumbers.set(key, added);
    return added;
  }

  /** In the order in which they run; a step may use the results of earlier ones. */
  const steps: Record<string, (draft: Draft) => void> = {
    strings({ raw }) {
      if (raw.forgetStrings) forget();
      else if (visitNumbers.size > visitsMax) forgetVisits();
      learnLinks(raw);
      for (const text of raw.newAgents) {
        const agent = agents(text);
        known.agents.push(agent);
        known.agentKinds.push(kindNumber(agent.kind));
      }
      for (const referrer of raw.newReferrers) known.referrers.push(referrers(referrer));
      for (const language of raw.newLanguages) known.languages.push(languageOf(language));
      for (const query of raw.newQueries) known.queries.push(queryTraitsOf(query));
    },
    geo({ raw: { newVisitors } }) {
      const { addresses, agents: agentNumbers, languages } = newVisitors;
      if (agentNumbers.length === 0) return;
      for (const [index, address] of addresses.split('\n').entries()) {
        const agent = agentNumbers[index]!;
        const place = geo.locate(address);
        known.visitors.push({
          address,
          agent,
          place: places.numberOf(`${place.country}\t${place.region}\t${place.city}`, place),
          language: languages[index]!,
          keys: suspicion.keysOf(address, known.agents[agent]!.userAgent),
          day: -1,
          hashHigh: 0,
          hashLow: 0,
        });
      }
    },
    visitor({ raw, agent, place, visitorHigh, visitorLow }) {
      for (let index = 0; index < raw.at.length; index += 1) {
        const visitor = known.visitors[raw.visitor[index]!]!;
        const at = raw.at[index]!;
        const day = Math.floor(at / dayMs);
        if (visitor.day !== day) {
          const hash = visitors.visitorOf(visitor.address, known.agents[visitor.agent]!.userAgent, at);
          visitor.day = day;
          visitor.hashHigh = Number.parseInt(hash.slice(0, 8), 16);
          visitor.hashLow = Number.parseInt(hash.slice(8), 16);
        }
        agent[index] = visitor.agent;
        place[index] = visitor.place;
        visitorHigh[index] = visitor.hashHigh;
        visitorLow[index] = visitor.hashLow;
      }
    },
    visit({ raw, visit }) {
      // Nearly all visits have neither a query nor a campaign, and are known by their language.
      const plain = new Int32Array(known.languages.length).fill(-1);
      const hasQueries = raw.query.length > 0;
      for (let index = 0; index < visit.length; index += 1) {
        const { language } = known.visitors[raw.visitor[index]!]!;
        const query = hasQueries ? raw.query[index]! : 0;
        const labels = known.linkLabels[raw.link[index]!]!;
        if (query !== 0 || (labels !== 0 && known.labels[labels]!.destination !== noQueryTraits))
          visit[index] = visitNumberOf(language, query, labels);
        else {
          if (plain[language] === -1) plain[language] = visitNumberOf(language, 0, 0);
          visit[index] = plain[language]!;
        }
      }
    },
    kind({ raw, kind, agent }) {
      for (let index = 0; index < kind.length; index += 1) {
        const flags = raw.flags[index]!;
        kind[index] =
          flags === 0
            ? known.agentKinds[agent[index]!]!
            : kindNumber(kindOf(flags, known.agents[agent[index]!]!));
      }
    },
    signal({ raw, kind, signal }) {
      for (let index = 0; index < kind.length; index += 1) {
        if (kind[index] !== humanKind) continue;
        signal[index] = suspicion.judge(known.visitors[raw.visitor[index]!]!.keys, raw.at[index]!);
      }
    },
    lists(draft) {
      draft.lists = {
        links: listMaker.listOf(draft.link, known.links),
        agents: listMaker.listOf(draft.agent, known.agents),
        referrers: listMaker.listOf(draft.referrer, known.referrers),
        places: listMaker.listOf(draft.place, places.values),
        visits: listMaker.listOf(draft.visit, visits.values),
      };
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

function labelsOf(text: string): KnownLabels {
  if (text === '') return noLabels;
  const { tags, query } = JSON.parse(text) as LinkLabels;
  return { tags, destination: queryTraitsOf(query) };
}

function emptyDraft(raw: RawBatch): Draft {
  const count = raw.at.length;
  return {
    raw,
    link: raw.link.slice(),
    agent: new Uint32Array(count),
    referrer: raw.referrer.slice(),
    place: new Uint32Array(count),
    visit: new Uint32Array(count),
    kind: new Uint8Array(count),
    signal: new Uint8Array(count),
    visitorHigh: new Uint32Array(count),
    visitorLow: new Uint32Array(count),
    lists: { links: [], agents: [], referrers: [], places: [], visits: [] },
  };
}

function batchOf({ raw, lists, ...columns }: Draft): ClickBatch {
  return { firstSequence: raw.firstSequence, at: raw.at, ...columns, ...lists };
}

/** Numbers distinct values in the order in which they are first seen. */
class Catalog<Value> {
  readonly #numbers = new Map<string, number>();
  values: Value[] = [];

  /** No two different values have the same key. */
  numberOf(key: string, value: Value): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.values.push(value) - 1;
    this.#numbers.set(key, number);
    return number;
  }

  clear(): void {
    this.#numbers.clear();
    this.values = [];
  }
}

/**
 * Makes the lists of a batch, which have only the entries that its clicks point to. The marks of entries are kept
 * between calls, because clearing them would take longer than a small batch itself.
 */
class ListMaker {
  #call = 0;
  #metIn = new Uint32Array(0);
  #positions = new Uint32Array(0);

  /** Replaces the numbers in a column by positions in the list that it returns. */
  listOf<Value>(column: Uint32Array, values: readonly Value[]): Value[] {
    if (this.#metIn.length < values.length) {
      this.#metIn = new Uint32Array(2 * values.length);
      this.#positions = new Uint32Array(2 * values.length);
    }
    const metIn = this.#metIn;
    const positions = this.#positions;
    const list: Value[] = [];
    this.#call += 1;
    const call = this.#call;
    for (let index = 0; index < column.length; index += 1) {
      const number = column[index]!;
      if (metIn[number] !== call) {
        metIn[number] = call;
        positions[number] = list.push(values[number]!) - 1;
      }
      column[index] = positions[number]!;
    }
    return list;
  }
}
