/** Reviews and reports in DynamoDB, beside the links they are about. */
import type { Clock } from '../../../base/clock.ts';
import type { AuditItems } from '../../../engines/dynamodb/audit-items.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import { isNew, type Key } from '../../../engines/dynamodb/expressions.ts';
import { partitionOf } from '../../../engines/dynamodb/key-text.ts';
import type { Steps } from '../../../engines/dynamodb/steps.ts';
import { queueCursorOf, queuePlaceOf } from '../../queue-cursor.ts';
import { afterAppeal, afterNote, afterReport, placeOf } from '../../review.ts';
import { type KeptReport, type ReviewStore, reportsKeptMax } from '../../store.ts';
import { createQueueCounter } from './queue-counter.ts';
import {
  type QueueItem,
  queueKey,
  queuePartition,
  type ReviewItem,
  reviewKey,
  reviewWrites,
} from './review-items.ts';

export interface ReviewStoreParts {
  readonly dynamo: Dynamo;
  readonly steps: Steps;
  readonly auditItems: AuditItems;
  readonly clock: Clock;
}

interface ReportItem extends Key {
  readonly times: number;
  readonly record: Omit<KeptReport, 'times'>;
}

export function createDynamoReviewStore({ dynamo, steps, auditItems, clock }: ReviewStoreParts): ReviewStore {
  const queueAge = createQueueCounter(dynamo, clock);

  const readItem = (code: string): Promise<ReviewItem | undefined> => dynamo.get<ReviewItem>(reviewKey(code));
  const turnOf = (code: string): string => `review ${code}`;

  return {
    async find(code) {
      const item = await readItem(code);
      return item?.record;
    },

    async queue({ limit, cursor }) {
      const { items } = await dynamo.query<QueueItem>({
        pk: queuePartition,
        limit: limit + 1,
        ...(cursor === undefined ? {} : { range: { above: queueKey(queuePlaceOf(cursor)).sk } }),
      });
      const page = items.slice(0, limit);
      const reviews = await dynamo.getMany<ReviewItem>(page.map(({ record }) => reviewKey(record.code)));
      return {
        // One that was decided since the queue was read is not shown any more.
        reviews: reviews.flatMap(item =>
          item === undefined || placeOf(item.record) === undefined ? [] : item.record,
        ),
        nextCursor: items.length > limit ? queueCursorOf(page.at(-1)!.record) : undefined,
      };
    },

    queueAge,

    report: (report, opens) =>
      steps.run(turnOf(report.code), async () => {
        const { code, reporter, ...words } = report;
        const key = { pk: reviewKey(code).pk, sk: partitionOf('report', reporter) };
        const wasFolded = await dynamo.write({
          update: key,
          expression: 'ADD #times :one',
          condition: 'attribute_exists(#pk)',
          values: { one: 1 },
        });
        if (wasFolded) return { answer: 'folded' };
        const before = await readItem(code);
        const kept = before?.reportsKept ?? 0;
        const review = afterReport(before?.record, code, report.at, opens);
        if (kept >= reportsKeptMax) return { answer: 'noted', writes: reviewWrites(before, review) };
        const keep = { put: { ...key, times: 1, record: { code, ...words } }, condition: isNew };
        return { answer: 'noted', writes: [...reviewWrites(before, review, kept + 1), keep] };
      }),

    async reports(code) {
      const { items } = await dynamo.query<ReportItem>({
        pk: reviewKey(code).pk,
        range: { prefix: 'report#' },
        limit: reportsKeptMax,
      });
      return items
        .toSorted((one, other) => one.record.at - other.record.at || (one.sk < other.sk ? -1 : 1))
        .map(({ times, record }) => ({ ...record, times }));
    },

    appeal: (code, appeal, audit) =>
      steps.run(turnOf(code), async () => {
        const before = await readItem(code);
        const { outcome, review } = afterAppeal(before?.record, code, appeal);
        if (outcome !== 'noted') return { answer: outcome };
        return {
          answer: outcome,
          writes: [...reviewWrites(before, review), ...(await auditItems.itemsOf([audit]))],
        };
      }),

    dismiss: (code, at) =>
      steps.run(turnOf(code), async () => {
        const before = await readItem(code);
        if (before === undefined) return { answer: undefined };
        const note = { kind: 'close', code, at, isHeld: false, heldFrom: undefined } as const;
        return { answer: undefined, writes: reviewWrites(before, afterNote(before.record, note)) };
      }),
  };
}
