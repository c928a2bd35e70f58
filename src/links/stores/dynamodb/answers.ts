/**
 * First answers to keyed requests. The engine itself forgets them after their time; until it comes to that, a record that
 * is too old counts as forgotten and is written over.
 */
import type { Dynamo, PutItem } from '../../../engines/dynamodb/dynamodb.ts';
import type { Link } from '../../link.ts';
import type { IdempotencyRecord, RememberedAnswer } from '../../store.ts';
import { answerKey } from './keys.ts';
import { secondsOf } from './rows.ts';

interface AnswerRow {
  readonly fingerprint: string;
  readonly createdAt: number;
  readonly outcome: RememberedAnswer['outcome'];
  /** The link as it was answered with, as JSON: it is given again, never looked into. */
  readonly link: string;
}

export async function recall(
  dynamo: Dynamo,
  { ownerId, key, validAfter }: IdempotencyRecord,
): Promise<RememberedAnswer | undefined> {
  const row = await dynamo.get<AnswerRow>(answerKey(ownerId, key));
  if (row === undefined || row.createdAt < validAfter) return undefined;
  return { outcome: row.outcome, link: JSON.parse(row.link) as Link, fingerprint: row.fingerprint };
}

/** For the transaction that makes the link, or alone where one was found: refused when there is an answer already. */
export function answerItem(
  record: IdempotencyRecord,
  outcome: RememberedAnswer['outcome'],
  link: Link,
  now: number,
): PutItem {
  const { ownerId, key, fingerprint, createdAt, validAfter } = record;
  return {
    put: {
      ...answerKey(ownerId, key),
      owner: ownerId,
      key,
      fingerprint,
      createdAt,
      outcome,
      link: JSON.stringify(link),
      ttl: secondsOf(now + 2 * (createdAt - validAfter)),
    },
    condition: {
      expression: 'attribute_not_exists(#pk) OR #createdAt < :validAfter',
      values: { validAfter },
    },
  };
}
