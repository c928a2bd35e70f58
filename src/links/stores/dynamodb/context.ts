/** What the writes of links share, and the items that a trace adds to their transactions. */
import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { AuditItems } from '../../../engines/dynamodb/audit-items.ts';
import type { Dynamo, TransactItem } from '../../../engines/dynamodb/dynamodb.ts';
import type { LinkTrace, ReviewNote } from '../../trace.ts';
import type { ChangeWriter } from './feed.ts';
import type { Places } from './keys.ts';

export interface WriteContext {
  readonly dynamo: Dynamo;
  readonly clock: Clock;
  readonly random: Random;
  readonly places: Places;
  readonly changes: ChangeWriter;
  readonly auditItems: AuditItems;
  /** Moderation's part of a write: refused when the review has changed since, and then asked for again. */
  readonly reviewNoteItems: (note: ReviewNote) => Promise<readonly TransactItem[]>;
  /** How long an expired link is kept, so that its visitors are told. */
  readonly expiryGraceMs: number;
}

export async function traceItems(
  { auditItems, reviewNoteItems }: WriteContext,
  trace: LinkTrace | undefined,
): Promise<TransactItem[]> {
  if (trace === undefined) return [];
  const audit = await auditItems.itemsOf([trace.audit]);
  const review = trace.review === undefined ? [] : await reviewNoteItems(trace.review);
  return [...audit, ...review];
}
