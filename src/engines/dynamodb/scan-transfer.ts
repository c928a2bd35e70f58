/**
 * A part of an installation whose items lie anywhere in the table: there is no order to walk them in but the table's
 * own, so a walk passes over everything and keeps what has the part's prefix. The more of the table is the part's, the
 * less of that is in vain; what can be listed otherwise should be.
 */
import type { Transfer, TransferRecord } from '../../base/transfer.ts';
import type { Dynamo } from './dynamodb.ts';
import type { Key } from './expressions.ts';
import type { StartKey } from './queries.ts';

export interface ScannedPart<Value, Row> {
  readonly part: string;
  /** How the partition keys of the part's items begin, and of no others. */
  readonly prefix: string;
  /** What part of the items under the prefix it is, where it shares them. */
  readonly sortKeyPrefix?: string;
  readonly keyOf: (key: string) => Key;
  readonly recordOf: (row: Row) => TransferRecord<Value>;
}

/**
 * Items that a page passes over, however many of them are the part's. The engine stops at a megabyte by itself, which is
 * about as many: fewer would only mean more calls, for it is paid by what it reads.
 */
const strideMin = 5_000;

export function scanTransfer<Value, Row extends Key>(
  dynamo: Dynamo,
  { part, prefix, sortKeyPrefix, keyOf, recordOf }: ScannedPart<Value, Row>,
): Pick<Transfer<Value>, 'part' | 'page' | 'read'> {
  const ofPart = 'begins_with(#pk, :prefix)';
  const filter =
    sortKeyPrefix === undefined
      ? { expression: ofPart, values: { prefix } }
      : { expression: `${ofPart} AND begins_with(#sk, :sort)`, values: { prefix, sort: sortKeyPrefix } };
  return {
    part,
    async page(cursor, limit) {
      const start = cursor === undefined ? undefined : (JSON.parse(cursor) as StartKey);
      const { items, next } = await dynamo.scan<Row>({
        start,
        limit: Math.max(limit, strideMin),
        filter,
      });
      return { records: items.map(recordOf), next: next && JSON.stringify(next) };
    },
    async read(keys) {
      const rows = await dynamo.getMany<Row>(keys.map(keyOf));
      return rows.flatMap(row => (row === undefined ? [] : recordOf(row)));
    },
  };
}
