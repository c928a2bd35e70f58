/**
 * A click: one followed link. It exists in two forms. The redirect records a raw click, which has the visitor's address
 * and stays in memory. An enriched click is stored: it has a country instead of the address, and a keyed hash that
 * cannot be reversed and whose key changes every day.
 */

/** Why a visit is not a person's click; `human` is one that counts. */
export const visitKinds = ['human', 'bot', 'preview', 'prefetch', 'head'] as const;
export type VisitKind = (typeof visitKinds)[number];

/** Why a person's click is suspicious (steps/suspicion.ts). It is counted nevertheless. */
export const clickSignals = ['none', 'address', 'agent'] as const;
export type ClickSignal = (typeof clickSignals)[number];

export const deviceKinds = ['desktop', 'mobile', 'tablet', 'tv', 'bot', 'other'] as const;
export type DeviceKind = (typeof deviceKinds)[number];

/** What a user agent string says; the same string always gives the same traits. */
export interface AgentTraits {
  readonly userAgent: string;
  /** Family names without versions, such as `Chrome`; empty when unknown. */
  readonly browser: string;
  readonly os: string;
  readonly device: DeviceKind;
  /** The kind by the agent's name alone; the request's method and headers may say more. */
  readonly kind: 'human' | 'bot' | 'preview';
}

export interface ReferrerTraits {
  readonly referrer: string;
  /** The host without `www.`, such as `news.example.com`; empty for a direct visit. */
  readonly domain: string;
}

/** The traits of a visit beside its agent and its referrer: the language, the campaign, and how the link was found. */
export interface VisitTraits {
  /** The first language that the browser asks for, such as `de`; empty when unknown. */
  readonly language: string;
  /** UTM parameters of the short URL as it was followed, otherwise of the link's destination. */
  readonly utmSource: string;
  readonly utmMedium: string;
  readonly utmCampaign: string;
  readonly utmTerm: string;
  readonly utmContent: string;
  /** `qr` for the scan of a QR code; empty otherwise. */
  readonly via: string;
}

export const noVisitTraits: VisitTraits = {
  language: '',
  utmSource: '',
  utmMedium: '',
  utmCampaign: '',
  utmTerm: '',
  utmContent: '',
  via: '',
};

export interface Click {
  /** The click's number from its producer; it identifies the click together with the producer's name. */
  readonly sequence: number;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly code: string;
  readonly ownerId: string | null;
  readonly tags: readonly string[];
  readonly kind: VisitKind;
  readonly signal: ClickSignal;
  /** 64 bits of a keyed hash of address and agent, as 16 hex digits; the key changes every UTC day. */
  readonly visitor: string;
  /** ISO 3166-1 alpha-2; empty when unknown. */
  readonly country: string;
  readonly region: string;
  readonly city: string;
  readonly agent: AgentTraits;
  readonly referrer: ReferrerTraits;
  readonly visit: VisitTraits;
}

/**
 * Many enriched clicks, kept as columns. Repeated values (links, agents, referrers, places) are kept once in a list, to
 * which clicks point by position. So a batch of thousands costs a few typed arrays instead of thousands of objects, and
 * packs to a few bytes per click.
 */
export interface LinkEntry {
  readonly code: string;
  readonly ownerId: string | null;
  readonly tags: readonly string[];
}

export interface Place {
  readonly country: string;
  /** The first subdivision, such as `Bavaria`; empty when unknown. */
  readonly region: string;
  readonly city: string;
}

export interface ClickBatch {
  /** The number of the first click; the others follow without a gap. */
  readonly firstSequence: number;
  readonly at: Float64Array;
  readonly kind: Uint8Array;
  /** Positions in `clickSignals`; 0 for a click that is not suspicious. */
  readonly signal: Uint8Array;
  readonly visitorHigh: Uint32Array;
  readonly visitorLow: Uint32Array;
  /** Positions in the lists below. */
  readonly link: Uint32Array;
  readonly agent: Uint32Array;
  readonly referrer: Uint32Array;
  readonly place: Uint32Array;
  readonly visit: Uint32Array;
  readonly links: readonly LinkEntry[];
  readonly agents: readonly AgentTraits[];
  readonly referrers: readonly ReferrerTraits[];
  readonly places: readonly Place[];
  readonly visits: readonly VisitTraits[];
  /**
   * For a stream whose partitions are numbered separately: how many clicks each partition had before this batch, see
   * partition-numbers.ts.
   */
  readonly givenBefore?: readonly number[];
}

/** The columns of positions, and the list that each points into. */
export const listOf = {
  link: 'links',
  agent: 'agents',
  referrer: 'referrers',
  place: 'places',
  visit: 'visits',
} as const;
export type ListColumn = keyof typeof listOf;
export const listColumns = Object.keys(listOf) as readonly ListColumn[];

/** A batch without clicks, for a range of a stream in which nothing can be read. */
export const emptyBatch: ClickBatch = {
  firstSequence: 1,
  at: new Float64Array(0),
  kind: new Uint8Array(0),
  signal: new Uint8Array(0),
  visitorHigh: new Uint32Array(0),
  visitorLow: new Uint32Array(0),
  link: new Uint32Array(0),
  agent: new Uint32Array(0),
  referrer: new Uint32Array(0),
  place: new Uint32Array(0),
  visit: new Uint32Array(0),
  links: [],
  agents: [],
  referrers: [],
  places: [],
  visits: [],
};

export const kindNumber = (kind: VisitKind): number => visitKinds.indexOf(kind);
export const humanKind = kindNumber('human');
export const signalNumber = (signal: ClickSignal): number => clickSignals.indexOf(signal);

export const clickCount = (batch: ClickBatch): number => batch.at.length;

/** The time of the oldest click in some batches; infinite when there is none. */
export function oldestIn(batches: readonly Pick<ClickBatch, 'at'>[]): number {
  let oldest = Number.POSITIVE_INFINITY;
  for (const { at: times } of batches) for (const at of times) if (at < oldest) oldest = at;
  return oldest;
}

/** One click as an object, for code that handles single clicks: export, live view, tests. */
export function clickAt(batch: ClickBatch, index: number): Click {
  const { code, ownerId, tags } = batch.links[batch.link[index]!]!;
  const { country, region, city } = batch.places[batch.place[index]!]!;
  return {
    sequence: batch.firstSequence + index,
    at: batch.at[index]!,
    code,
    ownerId,
    tags,
    kind: visitKinds[batch.kind[index]!] ?? 'bot',
    signal: clickSignals[batch.signal[index]!] ?? 'none',
    visitor: hex32(batch.visitorHigh[index]!) + hex32(batch.visitorLow[index]!),
    country,
    region,
    city,
    agent: batch.agents[batch.agent[index]!]!,
    referrer: batch.referrers[batch.referrer[index]!]!,
    visit: batch.visits[batch.visit[index]!]!,
  };
}

function hex32(word: number): string {
  return word.toString(16).padStart(8, '0');
}

type BatchColumn = Float64Array | Uint8Array | Uint32Array;
const columnNames = ['at', 'kind', 'signal', 'visitorHigh', 'visitorLow', ...listColumns] as const;

/** The batch with every column changed in the same way. */
function withColumns(batch: ClickBatch, change: (column: BatchColumn) => BatchColumn): ClickBatch {
  const changed = Object.fromEntries(columnNames.map(name => [name, change(batch[name])]));
  return { ...batch, ...changed };
}

/** The clicks of a batch from a time on. Their numbers may have gaps. */
export function clicksFrom(batch: ClickBatch, from: number): ClickBatch {
  if (batch.at.every(at => at >= from)) return batch;
  return withColumns(batch, column => column.filter((_: number, index: number) => batch.at[index]! >= from));
}

/** A batch without its first clicks, for a reader that has counted them already. */
export function withoutFirst(batch: ClickBatch, skipped: number): ClickBatch {
  const rest = withColumns(batch, column => column.subarray(skipped));
  return { ...rest, firstSequence: batch.firstSequence + skipped };
}

/** Some clicks of a batch. Their numbers may have gaps. */
export function clicksAt(batch: ClickBatch, rows: Uint32Array | readonly number[]): ClickBatch {
  if (rows.length === batch.at.length) return batch;
  return withColumns(batch, column => {
    const picked = new (column.constructor as new (length: number) => BatchColumn)(rows.length);
    for (let index = 0; index < rows.length; index += 1) picked[index] = column[rows[index]!]!;
    return picked;
  });
}
