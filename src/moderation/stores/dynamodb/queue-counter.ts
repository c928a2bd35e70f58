/**
 * How many links wait and since when. Both take a walk through the whole queue, which costs next to nothing while it is
 * short. One that does not fit into a single answer of DynamoDB is in trouble already, and counting it every few
 * seconds in every process would add to that: it is counted once in a while.
 */
import type { Clock } from '../../../base/clock.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import { type QueueAge, waitingCountMax } from '../../store.ts';
import { type QueueItem, queuePartition } from './review-items.ts';

const longCountPeriodMs = 60_000;

export function createQueueCounter(dynamo: Pick<Dynamo, 'query'>, clock: Clock): () => Promise<QueueAge> {
  let longCount: { readonly age: QueueAge; readonly atMs: number } | undefined;

  return async () => {
    if (longCount !== undefined && clock.monotonicMs() - longCount.atMs < longCountPeriodMs) {
      return longCount.age;
    }
    let waiting = 0;
    let oldestAt = Number.POSITIVE_INFINITY;
    let page = await dynamo.query<QueueItem>({ pk: queuePartition });
    const fitsIntoOne = page.next === undefined;
    for (;;) {
      for (const { record } of page.items) oldestAt = Math.min(oldestAt, record.openedAt);
      waiting += page.items.length;
      if (page.next === undefined || waiting >= waitingCountMax) break;
      page = await dynamo.query<QueueItem>({ pk: queuePartition, start: page.next });
    }
    const age = { waiting: Math.min(waiting, waitingCountMax), oldestAt: waiting === 0 ? null : oldestAt };
    longCount = fitsIntoOne ? undefined : { age, atMs: clock.monotonicMs() };
    return age;
  };
}
