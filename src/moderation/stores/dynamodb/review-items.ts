/**
 * A review as an item beside the reports about the same link, and its place in the queue as a second one. Both change
 * in one transaction under the condition that the review is as it was read, so the queue never tells of a review that
 * does not wait, nor misses one that does. Writes of links take these items into their own transaction.
 */
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { Key, TransactItem } from '../../../engines/dynamodb/expressions.ts';
import { partitionOf, sortableText } from '../../../engines/dynamodb/key-text.ts';
import { nextVersion, unchanged } from '../../../engines/dynamodb/steps.ts';
import type { QueuePlace } from '../../queue-cursor.ts';
import { afterNote, placeOf, type Review, type ReviewNote } from '../../review.ts';

/** A record is one attribute, so that none of its fields is ever taken for a key of an index. */
export interface ReviewItem extends Key {
  readonly record: Review;
  readonly version: number;
  /** How many reports are kept in words. */
  readonly reportsKept: number;
}

export interface QueueItem extends Key {
  readonly record: QueuePlace & { readonly openedAt: number };
}

export type ReviewNoteItems = (note: ReviewNote) => Promise<TransactItem[]>;

export const queuePartition = 'review-queue';

/** What a link's write means for its review; to be asked again when the transaction is refused for one of these. */
export function createReviewNoteItems(dynamo: Pick<Dynamo, 'get'>): ReviewNoteItems {
  return async note => {
    const before = await dynamo.get<ReviewItem>(reviewKey(note.code));
    return reviewWrites(before, afterNote(before?.record, note));
  };
}

export const reviewKey = (code: string): Key => ({ pk: partitionOf('review', code), sk: 'review' });

export function reviewWrites(
  before: ReviewItem | undefined,
  review: Review,
  reportsKept = before?.reportsKept ?? 0,
): TransactItem[] {
  const appeal = review.appeal && { ...review.appeal };
  const record = { ...review, appeal };
  return [
    {
      put: { ...reviewKey(review.code), version: nextVersion(before), reportsKept, record },
      condition: unchanged(before),
    },
    ...queueWrites(before?.record, review),
  ];
}

function queueWrites(before: Review | undefined, after: Review): TransactItem[] {
  const [from, to] = [before && placeOf(before), placeOf(after)];
  if (from === to) return [];
  const { code, openedAt } = after;
  return [
    ...(from === undefined ? [] : [{ remove: queueKey({ place: from, code }) }]),
    ...(to === undefined
      ? []
      : [{ put: { ...queueKey({ place: to, code }), record: { place: to, code, openedAt } } }]),
  ];
}

export const queueKey = ({ place, code }: QueuePlace): Key => ({
  pk: queuePartition,
  sk: `${sortableText(place)}#${code}`,
});
