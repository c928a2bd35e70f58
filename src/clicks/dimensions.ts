/**
 * The dimensions by which statistics filter and list clicks, as data: both warehouses, the API, exports and the
 * dashboard read this table. A new dimension is a row at the end (the order numbers an enum in ClickHouse) and a step
 * of enrichment that finds its value. The dashboard bundles this file, so it imports types only.
 */
import type {
  AgentTraits,
  ClickBatch,
  ClickSignal,
  LinkEntry,
  ListColumn,
  Place,
  ReferrerTraits,
  VisitKind,
  VisitTraits,
} from './click.ts';

interface Row<Column extends ListColumn | 'kind', Entry> {
  /** The name in the warehouses, of the filter in the API, and in exports if `isExported`. */
  readonly name: string;
  /** The column of a click whose entry has the value. */
  readonly of: Column;
  readonly value: (entry: Entry) => string;
  /** Its column in ClickHouse's table of incoming clicks. */
  readonly column: string;
  /** False if exports have the value in another form. */
  readonly isExported: boolean;
  /** False for a dimension that only statistics of an owner or a tag list. */
  readonly isOfLinks: boolean;
  /** The name of the list in the API, and its description in the OpenAPI document. */
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
  {
    name: 'region',
    of: 'place',
    value: place => place.region,
    column: 'region',
    isExported: true,
    isOfLinks: true,
    list: 'topRegions',
    doc: 'First subdivisions of countries; empty where unknown.',
    label: 'Regions',
  },
  {
    name: 'city',
    of: 'place',
    value: place => place.city,
    column: 'city',
    isExported: false,
    isOfLinks: true,
    list: 'topCities',
    doc: 'Cities; empty where unknown.',
    label: 'Cities',
  },
  {
    name: 'referrerUrl',
    of: 'referrer',
    value: referrer => referrer.referrer,
    column: 'referrer',
    isExported: false,
    isOfLinks: true,
    list: 'topReferrerUrls',
    doc: 'Pages people came from, as far as browsers tell; empty for direct visits.',
    label: 'Referring pages',
  },
  {
    name: 'language',
    of: 'visit',
    value: visit => visit.language,
    column: 'language',
    isExported: true,
    isOfLinks: true,
    list: 'languages',
    doc: 'The first language of the browser, such as `de`; empty where unknown.',
    label: 'Languages',
  },
  {
    name: 'utmSource',
    of: 'visit',
    value: visit => visit.utmSource,
    column: 'utm_source',
    isExported: true,
    isOfLinks: true,
    list: 'utmSources',
    doc: '`utm_source` of the visit, otherwise of the destination; empty for none.',
    label: 'Campaign sources',
    shortLabel: 'Source',
  },
  {
    name: 'utmMedium',
    of: 'visit',
    value: visit => visit.utmMedium,
    column: 'utm_medium',
    isExported: true,
    isOfLinks: true,
    list: 'utmMediums',
    doc: '`utm_medium` of the visit, otherwise of the destination; empty for none.',
    label: 'Campaign mediums',
    shortLabel: 'Medium',
  },
  {
    name: 'utmCampaign',
    of: 'visit',
    value: visit => visit.utmCampaign,
    column: 'utm_campaign',
    isExported: true,
    isOfLinks: true,
    list: 'utmCampaigns',
    doc: '`utm_campaign` of the visit, otherwise of the destination; empty for none.',
    label: 'Campaigns',
    shortLabel: 'Campaign',
  },
  {
    name: 'utmTerm',
    of: 'visit',
    value: visit => visit.utmTerm,
    column: 'utm_term',
    isExported: true,
    isOfLinks: true,
    list: 'utmTerms',
    doc: '`utm_term` of the visit, otherwise of the destination; empty for none.',
    label: 'Campaign terms',
    shortLabel: 'Term',
  },
  {
    name: 'utmContent',
    of: 'visit',
    value: visit => visit.utmContent,
    column: 'utm_content',
    isExported: true,
    isOfLinks: true,
    list: 'utmContents',
    doc: '`utm_content` of the visit, otherwise of the destination; empty for none.',
    label: 'Campaign contents',
    shortLabel: 'Content',
  },
  {
    name: 'via',
    of: 'visit',
    value: visit => visit.via,
    column: 'via',
    isExported: true,
    isOfLinks: true,
    list: 'via',
    doc: '`qr` for scans of QR codes; empty for other clicks.',
    label: 'QR codes',
  },
  {
    name: 'bot',
    of: 'kind',
    value: kind => (kind === 'human' ? '' : kind),
    column: 'kind',
    isExported: false,
    isOfLinks: true,
    list: 'bots',
    doc: 'What visits were that are not people’s clicks: `bot`, `preview`, `prefetch` or `head`.',
    label: 'Bots',
  },
] as const satisfies readonly (
  | Row<'link', LinkEntry>
  | Row<'agent', AgentTraits>
  | Row<'referrer', ReferrerTraits>
  | Row<'place', Place>
  | Row<'visit', VisitTraits>
  | Row<'kind', VisitKind>
)[];

export type Dimension = (typeof dimensions)[number];
export type DimensionName = Dimension['name'];
export type DimensionList = Dimension['list'];

export interface ValueCount {
  readonly value: string;
  /** Clicks of people; in the list of bots, visits of bots. */
  readonly clicks: number;
}

/** Dimensions of a single click, beside its link. */
export type ClickValues = Readonly<Record<Exclude<DimensionName, 'link'>, string>>;

/** A single click as it is shown: without anything that distinguishes one visitor from another. */
export interface ShownClick extends ClickValues {
  readonly code: string;
  readonly at: number;
  readonly kind: VisitKind;
  readonly signal: ClickSignal;
}

export const dimensionNames: readonly DimensionName[] = dimensions.map(({ name }) => name);

export const dimensionOf = (name: DimensionName): Dimension => dimensions.find(each => each.name === name)!;

/**
 * A filter as the text of a query parameter, in the API and in the dashboard's address bar: values separated by commas,
 * with `!` in front of the list to exclude them. A backslash escapes the next character. Percent-encoding cannot
 * distinguish commas in values, because most clients encode all of them.
 */
export function filterIn(list: string): { readonly values: string[]; readonly isExcluded: boolean } {
  const isExcluded = list.startsWith('!');
  const values = [''];
  for (const part of list.slice(isExcluded ? 1 : 0).match(/\\?./gsu) ?? []) {
    if (part === ',') values.push('');
    else values[values.length - 1] += part.length > 1 && part.startsWith('\\') ? part.slice(1) : part;
  }
  return { values: [...new Set(values)], isExcluded };
}

/** The dimension's value for each entry of the list that its column points into. */
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

const kinds: readonly VisitKind[] = ['human', 'bot', 'preview', 'prefetch', 'head'];

function listIn(batch: ClickBatch, column: ListColumn | 'kind'): readonly unknown[] {
  const { links, agents, referrers, places, visits } = batch;
  return { link: links, agent: agents, referrer: referrers, place: places, visit: visits, kind: kinds }[
    column
  ];
}
