/** Reading a range of one partition, of the table or of an index, and paging through everything. */

import { createHash } from 'node:crypto';
import { type Attributes, type Condition, type DynamoValue, placeholders } from './expressions.ts';

/**
 * The one table of an installation and its indexes, as data. Items of all kinds share the table under prefixes of their
 * own; an index holds only the keys of the items that carry its attributes. An index can be added to this list at any time: the
 * next start or `terse setup` builds it while the table stays in use. What was released is never changed.
 */
interface TableIndex {
  readonly pk: string;
  readonly sk: string;
  readonly skType: 'S' | 'N';
}

export const tableIndexes = {
  'links-by-owner': { pk: 'ownerKey', sk: 'place', skType: 'S' },
  'links-by-url': { pk: 'urlKey', sk: 'place', skType: 'S' },
  'links-by-site': { pk: 'siteKey', sk: 'place', skType: 'S' },
  'links-by-expiry': { pk: 'expiryKey', sk: 'expiresAt', skType: 'N' },
} as const satisfies Record<string, TableIndex>;

/** Only in tables of the version before records, whose audit log is imported by it. */
const formerIndexes = { 'audit-by-day': { pk: 'auditDay', sk: 'sk' } } as const;

export type IndexName = keyof typeof tableIndexes;

export const indexNames = Object.keys(tableIndexes) as IndexName[];

/** Seconds since the Unix epoch, after which the engine may drop the item by itself, within days and at no cost. */
export const ttlAttribute = 'ttl';

/** DynamoDB takes 2,048 bytes; no id of ours comes near this. */
const idBytesMax = 512;
/** Added to keep the order of negative numbers too. */

export function partitionOf(kind: string, id: string): string {
  if (Buffer.byteLength(id) <= idBytesMax) return `${kind}#${id}`;
  return `${kind}##${createHash('sha256').update(id).digest('hex')}`;
}

export interface Query {
  readonly pk: string;
  readonly index?: IndexName | keyof typeof formerIndexes;
  readonly range?: SortRange;
  readonly descending?: boolean;
  /** The most items that are looked at. */
  readonly limit?: number;
  /** An index is never read otherwise: it follows the table after a moment. */
  readonly near?: boolean;
  /** `next` of the page before. */
  readonly start?: StartKey | undefined;
}

/** Of the sort key: both ends included, or all beyond a value, or all that begin with one. */
export type SortRange =
  | { readonly from: SortValue; readonly to: SortValue }
  | { readonly from: SortValue }
  | { readonly to: SortValue }
  | { readonly above: SortValue }
  | { readonly below: SortValue }
  | { readonly prefix: string };
type SortValue = string | number;

export type StartKey = Attributes;

export interface QueryPage<Row> {
  readonly items: Row[];
  /** Where to go on; undefined at the end. */
  readonly next: StartKey | undefined;
}

export interface Scan {
  /** Which piece of the table, out of how many of about the same size; all of it when left out. */
  readonly segment?: { readonly index: number; readonly of: number };
  readonly start?: StartKey | undefined;
  readonly limit: number;
  readonly filter?: Condition;
}

export function queryInput(TableName: string, query: Query) {
  const { pk, index, range, descending = false, limit, near = false, start } = query;
  const names = index === undefined ? { pk: 'pk', sk: 'sk' } : { ...tableIndexes, ...formerIndexes }[index];
  const { expression, values } = rangeExpression(`#${names.sk}`, range);
  const condition = `#${names.pk} = :pk${expression}`;
  return {
    TableName,
    ...(index === undefined ? { ConsistentRead: !near } : { IndexName: index }),
    KeyConditionExpression: condition,
    ...placeholders([condition], { pk, ...values }),
    ScanIndexForward: !descending,
    ...(limit === undefined ? {} : { Limit: limit }),
    ...(start === undefined ? {} : { ExclusiveStartKey: start }),
  };
}

export function scanInput(TableName: string, { segment, start, limit, filter }: Scan) {
  return {
    TableName,
    Limit: limit,
    ConsistentRead: true,
    ...(segment === undefined ? {} : { Segment: segment.index, TotalSegments: segment.of }),
    ...(start === undefined ? {} : { ExclusiveStartKey: start }),
    ...(filter === undefined ? {} : { FilterExpression: filter.expression }),
    ...(filter === undefined ? {} : placeholders([filter.expression], filter.values)),
  };
}

function rangeExpression(
  sk: string,
  range: SortRange | undefined,
): { expression: string; values: Record<string, DynamoValue> } {
  if (range === undefined) return { expression: '', values: {} };
  if ('from' in range && 'to' in range) {
    return { expression: ` AND ${sk} BETWEEN :from AND :to`, values: { from: range.from, to: range.to } };
  }
  if ('from' in range) return { expression: ` AND ${sk} >= :bound`, values: { bound: range.from } };
  if ('to' in range) return { expression: ` AND ${sk} <= :bound`, values: { bound: range.to } };
  if ('above' in range) return { expression: ` AND ${sk} > :bound`, values: { bound: range.above } };
  if ('below' in range) return { expression: ` AND ${sk} < :bound`, values: { bound: range.below } };
  return { expression: ` AND begins_with(${sk}, :bound)`, values: { bound: range.prefix } };
}
