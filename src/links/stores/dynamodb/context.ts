/** What the writes of links share, and the items that a trace adds to their transactions. */
import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { Dynamo, TransactItem } from '../../../engines/dynamodb/dynamodb.ts';
import { recordItems } from '../../../records/drivers/dynamodb.ts';
import type { LinkTrace, TraceWrites } from '../../trace.ts';
import type { ChangeWriter } from './feed.ts';
import type { Places } from './keys.ts';

export interface WriteContext {
  readonly dynamo: Dynamo;
  readonly clock: Clock;
  readonly random: Random;
  readonly places: Places;
  readonly changes: ChangeWriter;
  readonly traceWrites: TraceWrites;
  /** How long an expired link is kept, so that its visitors get a 410. */
  readonly expiryGraceMs: number;
}

export async function traceItems(
  { traceWrites, clock }: WriteContext,
  trace: LinkTrace | undefined,
): Promise<TransactItem[]> {
  return trace === undefined ? [] : recordItems(await traceWrites(trace), clock.now());
}
