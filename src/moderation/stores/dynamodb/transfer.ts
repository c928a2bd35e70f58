/**
 * Reviews, reports and the audit trail of DynamoDB as parts of a migration. The trail is walked by its days, and an
 * entry's id follows from where it comes from: what is brought twice is found there the second time. Entries of an
 * engine that counts them are put in the order of their times here, and of their numbers within a millisecond.
 */
import type { AuditRecord } from '../../../base/audit-entry.ts';
import { inParallel } from '../../../base/in-parallel.ts';
import { columnsOf, type Transfer } from '../../../base/transfer.ts';
import {
  type AuditItem,
  auditDayOf,
  auditDays,
  auditEntryOf,
  auditItemOf,
  auditOfSubject,
  isAuditId,
  lowestAuditId,
} from '../../../engines/dynamodb/audit-items.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import { isNew, type Key } from '../../../engines/dynamodb/expressions.ts';
import { partitionOf } from '../../../engines/dynamodb/key-text.ts';
import type { StartKey } from '../../../engines/dynamodb/queries.ts';
import { rareTransfer } from '../../../engines/dynamodb/scan-transfer.ts';
import type { TableWalk } from '../../../engines/dynamodb/table-walk.ts';
import { placeOf, type Review } from '../../review.ts';
import {
  auditCopy,
  auditPlaceOf,
  type ModerationTransfers,
  type ReportCopy,
  reportKey,
} from '../../transfer.ts';
import { queueKey, type ReviewItem, reviewKey, reviewWrites } from './review-items.ts';

export const dynamoModerationTransfers = (dynamo: Dynamo, walk: TableWalk): ModerationTransfers => ({
  reviews: reviewsTransfer(dynamo, walk),
  reports: reportsTransfer(dynamo, walk),
  audit: auditTransfer(dynamo),
});

const writesAtOnce = 16;

function reviewsTransfer(dynamo: Dynamo, walk: TableWalk): Transfer<Review> {
  return {
    ...rareTransfer<Review, ReviewItem>(dynamo, walk, {
      part: 'reviews',
      prefix: 'review#',
      sortKeyPrefix: 'review',
      keyOf: reviewKey,
      recordOf: ({ record }) => ({ key: record.code, value: record }),
    }),
    async write(records) {
      const before = await dynamo.getMany<ReviewItem>(records.map(({ key }) => reviewKey(key)));
      await inParallel(records.length, writesAtOnce, async position => {
        await dynamo.transact(reviewWrites(before[position], records[position]!.value));
      });
    },
    async remove(codes) {
      for (const item of await dynamo.getMany<ReviewItem>(codes.map(reviewKey))) {
        if (item === undefined) continue;
        const place = placeOf(item.record);
        const queued = place === undefined ? [] : [{ remove: queueKey({ place, code: item.record.code }) }];
        await dynamo.transact([{ remove: { pk: item.pk, sk: item.sk } }, ...queued]);
      }
    },
  };
}

interface ReportItem extends Key {
  readonly times: number;
  readonly record: Omit<ReportCopy, 'times' | 'reporter'>;
}

const reportPrefix = 'report#';

function reportsTransfer(dynamo: Dynamo, walk: TableWalk): Transfer<ReportCopy> {
  const keyOf = (key: string): Key => {
    const [code, reporter] = columnsOf(key) as [string, string];
    return { pk: reviewKey(code).pk, sk: partitionOf('report', reporter) };
  };
  /** How many reports are kept is part of the review; one that has not come yet is waited for. */
  const count = (code: string, more: 1 | -1) => ({
    update: reviewKey(code),
    expression: 'ADD #reportsKept :more',
    condition: 'attribute_exists(#pk)',
    values: { more },
  });
  return {
    ...rareTransfer<ReportCopy, ReportItem>(dynamo, walk, {
      part: 'reports',
      prefix: 'review#',
      sortKeyPrefix: reportPrefix,
      keyOf,
      recordOf: ({ sk, times, record }) => {
        const copy = { ...record, reporter: sk.slice(reportPrefix.length), times };
        return { key: reportKey(copy), value: copy };
      },
    }),
    async write(records) {
      for (const { key, value } of records) {
        const { reporter: _reporter, times, ...record } = value;
        const put = { ...keyOf(key), times, record };
        const outcome = await dynamo.transact([{ put, condition: isNew }, count(value.code, 1)]);
        if (outcome.kind === 'refused' && outcome.failed.includes(0)) await dynamo.write({ put });
      }
    },
    async remove(keys) {
      for (const key of keys) {
        const isThere = { expression: 'attribute_exists(#pk)' };
        const [code] = columnsOf(key) as [string];
        const outcome = await dynamo.transact([{ remove: keyOf(key), condition: isThere }, count(code, -1)]);
        if (outcome.kind === 'refused') await dynamo.write({ remove: keyOf(key) });
      }
    },
  };
}

/** How far a walk along the days has come. */
interface DayPlace {
  readonly day: string;
  readonly start?: StartKey | undefined;
}

function auditTransfer(dynamo: Dynamo): Transfer<AuditRecord> {
  const notedDays = new Set<string>();
  const noteDay = async (day: string): Promise<void> => {
    if (notedDays.has(day)) return;
    await dynamo.write({ put: { pk: auditDays, sk: day } });
    notedDays.add(day);
  };
  const nextDay = async (after: string | undefined): Promise<string | undefined> => {
    const range = after === undefined ? {} : { range: { above: after } };
    const { items } = await dynamo.query<Key>({ pk: auditDays, ...range, limit: 1 });
    return items[0]?.sk;
  };

  return {
    part: 'audit',
    async page(cursor, limit) {
      const place: DayPlace | undefined = cursor === undefined ? undefined : JSON.parse(cursor);
      const day = place?.day ?? (await nextDay(undefined));
      if (day === undefined) return { records: [], next: undefined };
      const { items, next } = await dynamo.query<AuditItem>({
        pk: day,
        index: 'audit-by-day',
        limit,
        start: place?.start,
      });
      const records = items.map(auditEntryOf).map(auditCopy);
      if (next !== undefined) return { records, next: JSON.stringify({ day, start: next }) };
      const following = await nextDay(day);
      return { records, next: following === undefined ? undefined : JSON.stringify({ day: following }) };
    },
    async read(keys) {
      const items = await dynamo.getMany<AuditItem>(keys.map(itemKeyOf));
      return items.flatMap((item, index) => {
        if (item === undefined) return [];
        return { key: keys[index]!, value: auditCopy(auditEntryOf(item)).value };
      });
    },
    async write(records) {
      const there = await dynamo.getMany<AuditItem>(records.map(({ key }) => itemKeyOf(key)));
      // What is there stays as it is: an entry is never written over.
      const missing = records.filter((_, index) => there[index] === undefined);
      const entries = missing.map(({ key, value }) => ({ ...value, id: itemKeyOf(key).sk }));
      for (const { id } of entries) await noteDay(auditDayOf(id));
      // How long the target is to keep them is not known here, and what is kept for too long is not lost.
      await dynamo.batchWrite(entries.map(entry => ({ put: { ...auditItemOf(entry, null) } })));
    },
  };
}

const numberLength = 11;
const timeLength = 9;

function itemKeyOf(key: string): Key {
  const { id, at, subject } = auditPlaceOf(key);
  const sk = isAuditId(id) ? id : lowestAuditId(at).slice(0, timeLength) + id.padStart(numberLength, '0');
  return { pk: auditOfSubject(subject.kind, subject.id), sk };
}
