/**
 * Ranges of ids and the claims that aliases make on single ones. A lease moves the mark and then closes the buckets it
 * covers, one write each, which gives back the claims made so far; a claim adds its id to an open bucket, in the
 * transaction that writes its link. Both go through the same item, so either the lease hears of the claim or the claim
 * is refused. A check of the mark itself in every claim's transaction would do the same, and make all claims of an
 * installation stand in line for one item.
 *
 * A lease whose process dies before its buckets are closed gives its ids to nobody. Claims on those are refused all the
 * same, because a claim looks at the mark first; so are claims below a mark that was brought from another engine.
 */
import { Problem } from '../../../base/errors.ts';
import { inParallel } from '../../../base/in-parallel.ts';
import type { Dynamo, TransactItem } from '../../../engines/dynamodb/dynamodb.ts';
import type { Claim, RangeLease } from '../../store.ts';
import { bucketKey, bucketOf, bucketSortKey, claimBucketIds, claimPartitions, rangeKey } from './keys.ts';

interface RangeRow {
  readonly mark: number;
}

interface BucketRow {
  readonly ids?: ReadonlySet<number>;
  /** Ids below this are leased. */
  readonly closedTo?: number;
}

const attemptsMax = 16;
const bucketsAtOnce = 16;

export async function leaseRange(
  dynamo: Dynamo,
  length: number,
  size: number,
  limit: number,
): Promise<RangeLease> {
  const { from, to } = await moveMark(dynamo, length, size, limit);
  const claimed: number[] = [];
  const first = bucketOf(from);
  const buckets = to > from ? bucketOf(to - 1) - first + 1 : 0;
  await inParallel(buckets, bucketsAtOnce, async position => {
    const ids = await closeBucket(dynamo, length, first + position, to);
    claimed.push(...[...ids].filter(id => id >= from && id < to));
  });
  return { from, to, claimed: claimed.sort((a, b) => a - b) };
}

async function moveMark(
  dynamo: Dynamo,
  length: number,
  size: number,
  limit: number,
): Promise<{ from: number; to: number }> {
  const step = Math.min(size, limit);
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const moved = await dynamo.update<RangeRow>(
      {
        update: rangeKey(length),
        expression: 'ADD #mark :step',
        condition: 'attribute_not_exists(#mark) OR #mark <= :last',
        values: { step, last: limit - step },
      },
      'new',
    );
    if (moved !== undefined) return { from: moved.mark! - step, to: moved.mark! };
    const from = await readMark(dynamo, length);
    if (from >= limit) return { from, to: from };
    const rest = {
      update: rangeKey(length),
      expression: 'SET #mark = :limit',
      condition: '#mark = :from',
      values: { limit, from },
    };
    if (await dynamo.write(rest)) return { from, to: limit };
  }
  throw new Problem('store_unavailable', { detail: 'Too many processes lease ranges at once.' });
}

/** Closes a bucket up to `to` for claims and gives those made until then. */
async function closeBucket(
  dynamo: Dynamo,
  length: number,
  bucket: number,
  to: number,
): Promise<ReadonlySet<number>> {
  const key = bucketKey(length, bucket);
  const closedTo = Math.min(to, (bucket + 1) * claimBucketIds);
  const before = await dynamo.update<BucketRow>(
    {
      update: key,
      expression: 'SET #closedTo = :to',
      condition: 'attribute_not_exists(#closedTo) OR #closedTo < :to',
      values: { to: closedTo },
    },
    'old',
  );
  // Refused when a later lease was quicker with this bucket: then it is closed for our ids too.
  const row = before ?? (await dynamo.get<BucketRow>(key));
  return row?.ids ?? new Set();
}

export async function readMark(dynamo: Dynamo, length: number): Promise<number> {
  return (await dynamo.get<RangeRow>(rangeKey(length)))?.mark ?? 0;
}

/** For the transaction of a claim's link: refused when the id is leased or claimed. */
export function claimItem({ length, id }: Claim): TransactItem {
  return {
    update: bucketKey(length, bucketOf(id)),
    expression: 'ADD #ids :ids',
    condition:
      '(attribute_not_exists(#closedTo) OR #closedTo <= :id) AND (attribute_not_exists(#ids) OR NOT contains(#ids, :id))',
    values: { id, ids: new Set([id]) },
  };
}

/** Claimed ids at or above the mark. */
export async function readClaims(dynamo: Dynamo, length: number): Promise<number[]> {
  const mark = await readMark(dynamo, length);
  const partitions = await Promise.all(
    claimPartitions(length).map(pk => claimsIn(dynamo, pk, bucketOf(mark))),
  );
  return partitions
    .flat()
    .filter(id => id >= mark)
    .sort((a, b) => a - b);
}

async function claimsIn(dynamo: Dynamo, pk: string, firstBucket: number): Promise<number[]> {
  const range = { from: bucketSortKey(firstBucket) };
  const ids: number[] = [];
  let page = await dynamo.query<BucketRow>({ pk, range });
  for (;;) {
    for (const row of page.items) ids.push(...(row.ids ?? []));
    if (page.next === undefined) return ids;
    page = await dynamo.query<BucketRow>({ pk, range, start: page.next });
  }
}
