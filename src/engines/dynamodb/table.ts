import { createHash } from 'node:crypto';

/**
 * The one table of an installation and its indexes, as data. Items of all kinds share the table under prefixes of their
 * own; an index holds only the items that carry its attributes. An index can be added to this list at any time: the
 * next start or `terse setup` builds it while the table stays in use. What was released is never changed.
 */
export interface TableIndex {
  readonly pk: string;
  readonly sk: string;
  readonly skType: 'S' | 'N';
  /** `keys` for what is looked up in the table afterwards: the smallest that an index can be, and never out of date. */
  readonly holds: 'keys' | 'all';
}

export const tableIndexes = {
  'links-by-owner': { pk: 'ownerKey', sk: 'place', skType: 'S', holds: 'keys' },
  'links-by-url': { pk: 'urlKey', sk: 'place', skType: 'S', holds: 'keys' },
  'links-by-site': { pk: 'siteKey', sk: 'place', skType: 'S', holds: 'keys' },
  'links-by-expiry': { pk: 'expiryKey', sk: 'expiresAt', skType: 'N', holds: 'keys' },
  'audit-by-account': { pk: 'auditAccount', sk: 'sk', skType: 'S', holds: 'all' },
  'audit-by-day': { pk: 'auditDay', sk: 'sk', skType: 'S', holds: 'all' },
} as const satisfies Record<string, TableIndex>;

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
