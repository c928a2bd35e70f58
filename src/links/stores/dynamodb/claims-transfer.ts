/**
 * Claims of ids as a part of a migration. They lie in buckets, which leases close: what a bucket holds below that is
 * leased and no claim any more. A mark that was brought from elsewhere closes no bucket.
 */
import { columnsOf, type Transfer, type TransferRecord } from '../../../base/transfer.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { Key } from '../../../engines/dynamodb/expressions.ts';
import type { StartKey } from '../../../engines/dynamodb/queries.ts';
import type { Claim } from '../../store.ts';
import { claimKey } from '../../transfer.ts';
import { bucketKey, bucketOf, claimPartitions } from './keys.ts';

interface BucketRow extends Key {
  readonly ids?: ReadonlySet<number>;
  readonly closedTo?: number;
}

/** Every length that a generated code can have. */
const lengths = [6, 7, 8, 9, 10, 11, 12];

interface Place {
  readonly partition: number;
  readonly start?: StartKey | undefined;
}

export function claimsTransfer(dynamo: Dynamo): Transfer<Claim> {
  const partitions = lengths.flatMap(length => claimPartitions(length).map(pk => ({ pk, length })));
  const claimOf = (key: string): Claim => {
    const [length, id] = columnsOf(key) as [number, number];
    return { length, id };
  };
  const change = async (claims: readonly Claim[], verb: 'ADD' | 'DELETE'): Promise<void> => {
    const byBucket = Map.groupBy(claims, ({ length, id }) => JSON.stringify(bucketKey(length, bucketOf(id))));
    for (const [key, ofBucket] of byBucket) {
      await dynamo.write({
        update: JSON.parse(key) as Key,
        expression: `${verb} #ids :ids`,
        values: { ids: new Set(ofBucket.map(({ id }) => id)) },
      });
    }
  };

  return {
    part: 'claims',
    async page(cursor, limit) {
      const { partition, start }: Place = cursor === undefined ? { partition: 0 } : JSON.parse(cursor);
      const { pk, length } = partitions[partition]!;
      const { items, next } = await dynamo.query<BucketRow>({ pk, limit, start });
      const records = items.flatMap(row => liveClaims(length, row));
      if (next !== undefined) return { records, next: JSON.stringify({ partition, start: next }) };
      const isLast = partition + 1 === partitions.length;
      return { records, next: isLast ? undefined : JSON.stringify({ partition: partition + 1 }) };
    },
    async read(keys) {
      const claims = keys.map(claimOf);
      const names = new Set(claims.map(({ length, id }) => JSON.stringify([length, bucketOf(id)])));
      const buckets = Array.from(names, name => JSON.parse(name) as [number, number]);
      const rows = await dynamo.getMany<BucketRow>(
        buckets.map(([length, bucket]) => bucketKey(length, bucket)),
      );
      const wanted = new Set(keys);
      return rows
        .flatMap((row, index) => (row === undefined ? [] : liveClaims(buckets[index]![0], row)))
        .filter(({ key }) => wanted.has(key));
    },
    write: records =>
      change(
        records.map(({ value }) => value),
        'ADD',
      ),
    remove: keys => change(keys.map(claimOf), 'DELETE'),
  };
}

function liveClaims(length: number, { ids = new Set(), closedTo = 0 }: BucketRow): TransferRecord<Claim>[] {
  return [...ids]
    .filter(id => id >= closedTo)
    .map(id => ({ key: claimKey({ length, id }), value: { length, id } }));
}
