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

/** How far a walk has come: the partitions of one length at a time, side by side, those left that have more. */
interface Place {
  readonly length: number;
  readonly left: readonly { readonly pk: string; readonly start?: StartKey | undefined }[];
}

const beginningOf = (length: number): Place => ({
  length,
  left: claimPartitions(length).map(pk => ({ pk })),
});

export function claimsTransfer(dynamo: Dynamo): Transfer<Claim> {
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
      const { length, left }: Place = cursor === undefined ? beginningOf(lengths[0]!) : JSON.parse(cursor);
      const each = Math.ceil(limit / left.length);
      const pages = await Promise.all(
        left.map(({ pk, start }) => dynamo.query<BucketRow>({ pk, limit: each, start })),
      );
      const records = pages.flatMap(({ items }) => items.flatMap(row => liveClaims(length, row)));
      const rest = pages.flatMap(({ next }, index) =>
        next === undefined ? [] : { pk: left[index]!.pk, start: next },
      );
      if (rest.length > 0) return { records, next: JSON.stringify({ length, left: rest } satisfies Place) };
      const following = lengths[lengths.indexOf(length) + 1];
      return { records, next: following === undefined ? undefined : JSON.stringify(beginningOf(following)) };
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
