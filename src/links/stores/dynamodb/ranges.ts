/**
 * Ranges of ids and the claims that aliases make on single ones. A lease moves the mark and then closes the buckets it
 * covers, one write each, which returns the claims made so far; a claim adds its id to an open bucket, in the
 * transaction that writes its link. Both go through the same item, so either the lease sees the claim or the claim is
 * rejected. A check of the mark itself in every claim's transaction would do the same, but all claims of an
 * installation would contend for one item.
 *
 * The ids of a lease whose process dies before its buckets are closed are never issued. Claims on those are still
 * rejected, because a claim checks the spans first; so are claims below a mark that was copied from another engine.
 *
 * Each region's share has its own mark, which only that region writes: it is right in every copy of the table.
 */
import { Problem } from '../../../base/errors.ts';
import { inParallel } from '../../../base/in-parallel.ts';
import type { Dynamo, TransactItem } from '../../../engines/dynamodb/dynamodb.ts';
import { gapsBetween, isLeased, type LeaseRequest, nextRange, roomFor } from '../../leased-spans.ts';
import type { Claim, LeasedSpan, RangeLease } from '../../store.ts';
import {
  bucketKey,
  bucketOf,
  bucketSortKey,
  claimBucketIds,
  claimPartitions,
  firstOfRange,
  rangeKey,
  rangePartition,
} from './keys.ts';

interface RangeRow {
  readonly sk: string;
  readonly mark: number;
}

interface BucketRow {
  readonly ids?: ReadonlySet<number>;
  /** Ids below this are leased. */
  readonly closedTo?: number;
}

const attemptsMax = 16;
const bucketsAtOnce = 16;

export async function leaseRange(dynamo: Dynamo, length: number, request: LeaseRequest): Promise<RangeLease> {
  const { from, to } = await moveMark(dynamo, length, request);
  const claimed: number[] = [];
  const first = bucketOf(from);
  const buckets = to > from ? bucketOf(to - 1) - first + 1 : 0;
  await inParallel(buckets, bucketsAtOnce, async position => {
    const ids = await closeBucket(dynamo, length, first + position, to);
    claimed.push(...[...ids].filter(id => id >= from && id < to));
  });
  return { from, to, claimed: claimed.sort((a, b) => a - b) };
}

/** One addition, so that any number of processes may lease at once; only the ends of a share need a second check. */
async function moveMark(
  dynamo: Dynamo,
  length: number,
  request: LeaseRequest,
): Promise<{ readonly from: number; readonly to: number }> {
  const update = rangeKey(length, request.first);
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const { begin, end } = roomFor(await readSpans(dynamo, length), request);
    const step = Math.min(request.size, end - begin);
    if (step <= 0) return { from: begin, to: begin };
    const moved = await dynamo.update<RangeRow>(
      {
        update,
        expression: 'SET #mark = if_not_exists(#mark, :begin) + :step',
        condition: 'attribute_not_exists(#mark) OR #mark BETWEEN :begin AND :last',
        values: { begin, step, last: end - step },
      },
      'new',
    );
    if (moved !== undefined) return { from: moved.mark! - step, to: moved.mark! };
    const spans = await readSpans(dynamo, length);
    const { from, to } = nextRange(spans, request);
    if (to === from) return { from, to };
    const seen = spans.find(({ first }) => first === request.first)?.mark ?? from;
    const rest = { update, expression: 'SET #mark = :to', condition: '#mark = :seen', values: { to, seen } };
    if (await dynamo.write(rest)) return { from, to };
  }
  throw new Problem('store_unavailable', { detail: 'Too many processes lease ranges at once.' });
}

/** Closes a bucket up to `to` for claims and returns those made until then. */
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
  // Fails when a later lease closed this bucket first: then it is closed for our ids too.
  const row = before ?? (await dynamo.get<BucketRow>(key));
  return row?.ids ?? new Set();
}

/** One for each region that has leased, at most `regionsMax`: a page holds many more. */
export async function readSpans(dynamo: Dynamo, length: number): Promise<LeasedSpan[]> {
  const { items } = await dynamo.query<RangeRow>({ pk: rangePartition(length) });
  return items
    .map(row => ({ first: firstOfRange(row), mark: row.mark }))
    .sort((one, other) => one.first - other.first);
}

/** For the transaction of a claim's link: fails when the id is leased or claimed. */
export function claimItem({ length, id }: Claim): TransactItem {
  return {
    update: bucketKey(length, bucketOf(id)),
    expression: 'ADD #ids :ids',
    condition:
      '(attribute_not_exists(#closedTo) OR #closedTo <= :id) AND (attribute_not_exists(#ids) OR NOT contains(#ids, :id))',
    values: { id, ids: new Set([id]) },
  };
}

/** Claimed ids that are not leased. Buckets within a span hold none, and there are many of them. */
export async function readClaims(dynamo: Dynamo, length: number): Promise<number[]> {
  const spans = await readSpans(dynamo, length);
  const parts = gapsBetween(spans).flatMap(({ from, to }) => {
    const range = { from: bucketSortKey(bucketOf(from)), to: bucketSortKey(bucketOf(to)) };
    return claimPartitions(length).map(pk => claimsIn(dynamo, pk, range));
  });
  const claimed = new Set((await Promise.all(parts)).flat());
  return [...claimed].filter(id => !isLeased(spans, id)).sort((a, b) => a - b);
}

async function claimsIn(
  dynamo: Dynamo,
  pk: string,
  range: { readonly from: string; readonly to: string },
): Promise<number[]> {
  const ids: number[] = [];
  let page = await dynamo.query<BucketRow>({ pk, range });
  for (;;) {
    for (const row of page.items) ids.push(...(row.ids ?? []));
    if (page.next === undefined) return ids;
    page = await dynamo.query<BucketRow>({ pk, range, start: page.next });
  }
}
