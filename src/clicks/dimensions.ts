/**
 * What clicks are listed by in statistics, as data: both warehouses, the API, exports and the dashboard read this table.
 * A new dimension is a row at the end (the order numbers an enum in ClickHouse) and the step of enrichment that finds its
 * value. The dashboard bundles this file, so it imports types only.
 */
import type { AgentTraits, ClickBatch, LinkEntry, ListColumn, Place, ReferrerTraits } from './click.ts';

interface Row<Column extends ListColumn, Entry> {
  /** In the warehouses, and in exports where `isExported`. */
  readonly name: string;
  /** The column of a click whose entry has the value. */
  readonly of: Column;
  readonly value: (entry: Entry) => string;
  /** Its column in ClickHouse's table of incoming clicks. */
  readonly column: string;
  /** False where exports have the value in another form. */
  readonly isExported: boolean;
  /** False for what only the statistics of an owner or a tag list. */
  readonly isOfLinks: boolean;
  /** The name of the list in the API, and what the API's document says of it. */
  readonly list: string;
  readonly doc: string;
  /** Headings in the dashboard; the short one only for lists that share a card. */
  readonly label: string;
  readonly shortLabel?: string;
}

export const dimensions = [
  {
    name: 'country',
    of: 'place',
    value: place => place.country,
    column: 'country',
    isExported: true,
    isOfLinks: true,
    list: 'topCountries',
    doc: 'ISO 3166-1 codes; empty where unknown.',
    label: 'Countries',
  },
  {
    name: 'referrer',
    of: 'referrer',
    value: referrer => referrer.domain,
    column: 'domain',
    isExported: false,
    isOfLinks: true,
    list: 'topReferrers',
    doc: 'Domains people came from; empty for direct visits.',
    label: 'Sources',
  },
  {
    name: 'device',
    of: 'agent',
    value: agent => agent.device,
    column: 'device',
    isExported: true,
    isOfLinks: true,
    list: 'devices',
    doc: '`desktop`, `mobile`, `tablet`, `tv`, `bot` or `other`.',
    label: 'Devices',
    shortLabel: 'Device',
  },
  {
    name: 'browser',
    of: 'agent',
    value: agent => agent.browser,
    column: 'browser',
    isExported: true,
    isOfLinks: true,
    list: 'browsers',
    doc: 'Browser families; empty where unknown.',
    label: 'Browsers',
    shortLabel: 'Browser',
  },
  {
    name: 'os',
    of: 'agent',
    value: agent => agent.os,
    column: 'os',
    isExported: true,
    isOfLinks: true,
    list: 'os',
    doc: 'Operating systems; empty where unknown.',
    label: 'Operating systems',
    shortLabel: 'OS',
  },
  {
    name: 'link',
    of: 'link',
    value: link => link.code,
    column: 'code',
    isExported: false,
    isOfLinks: false,
    list: 'topLinks',
    doc: 'The most clicked links, by code; empty when the question was about single links.',
    label: 'Top links',
  },
] as const satisfies readonly (
  | Row<'link', LinkEntry>
  | Row<'agent', AgentTraits>
  | Row<'referrer', ReferrerTraits>
  | Row<'place', Place>
)[];

export type Dimension = (typeof dimensions)[number];
export type DimensionName = Dimension['name'];
export type DimensionList = Dimension['list'];
export type DimensionCounts = Readonly<Record<DimensionName, readonly ValueCount[]>>;

export interface ValueCount {
  readonly value: string;
  readonly clicks: number;
}

/** Dimensions of a single click, beside its link. */
export type ClickValues = Readonly<Record<Exclude<DimensionName, 'link'>, string>>;

export const dimensionNames: readonly DimensionName[] = dimensions.map(({ name }) => name);

/** The values that the clicks of a batch have: for each entry of the list that the dimension's column points into. */
export function valuesOf(batch: ClickBatch, { of, value }: Dimension): string[] {
  return listIn(batch, of).map(value as (entry: unknown) => string);
}

export function valueAt(batch: ClickBatch, { of, value }: Dimension, index: number): string {
  return (value as (entry: unknown) => string)(listIn(batch, of)[batch[of][index]!]);
}

export const clickValuesAt = (batch: ClickBatch, index: number): ClickValues =>
  Object.fromEntries(
    dimensions.flatMap(each => (each.name === 'link' ? [] : [[each.name, valueAt(batch, each, index)]])),
  ) as ClickValues;

function listIn(batch: ClickBatch, column: ListColumn): readonly unknown[] {
  const lists = { link: batch.links, agent: batch.agents, referrer: batch.referrers, place: batch.places };
  return lists[column];
}
