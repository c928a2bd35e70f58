/**
 * What a failure of Kafka means to a caller. Either the outcome is unknown, because no answer came in time; or a broker
 * rejected it, and nothing was done; or it was rejected because another member has taken our place in the group.
 * Everything the client library throws becomes one of these.
 */
import { GenericError, MultipleErrors } from '@platformatic/kafka';
import type { Clock } from '../../base/clock.ts';
import { withinDeadline } from '../../base/deadline.ts';
import type { Outcome } from '../../base/errors.ts';

/** No answer, or none in time: whether it was done is unknown. */
export class KafkaUnavailable extends Error {
  override readonly name = 'KafkaUnavailable';
}

/** A broker answered with an error. `code` is its name for the reason, such as MESSAGE_TOO_LARGE. */
export class KafkaRefusal extends Error {
  override readonly name = 'KafkaRefusal';
  readonly code: string;

  constructor(code: string, message: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** The group has given our partitions to others, or is about to. */
export class KafkaFenced extends Error {
  override readonly name = 'KafkaFenced';
}

const fencing: ReadonlySet<string> = new Set([
  'ILLEGAL_GENERATION',
  'UNKNOWN_MEMBER_ID',
  'REBALANCE_IN_PROGRESS',
  'FENCED_INSTANCE_ID',
  'STALE_MEMBER_EPOCH',
]);

/** Of a partition that is about to have another leader, or of a group that is about to have another coordinator. */
const unsettled: ReadonlySet<string> = new Set([
  'NOT_LEADER_OR_FOLLOWER',
  'LEADER_NOT_AVAILABLE',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'OFFSET_NOT_AVAILABLE',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR',
]);

/** Whether the same may well succeed in a moment. */
export function isTransient(error: unknown): boolean {
  const failure = failureOf(error);
  return failure instanceof KafkaRefusal ? unsettled.has(failure.code) : failure instanceof KafkaUnavailable;
}

/** For what fails before anything of the caller's was sent. */
export function unsent(error: unknown): never {
  throw Object.assign(failureOf(error), { outcome: 'none' satisfies Outcome });
}

export function failureOf(error: unknown): Error {
  if (error instanceof KafkaUnavailable || error instanceof KafkaRefusal || error instanceof KafkaFenced) {
    return error;
  }
  const refusal = refusalIn(error);
  if (refusal === undefined) return new KafkaUnavailable(reasonOf(error), { cause: error });
  if (fencing.has(refusal.code)) return new KafkaFenced(refusal.reason, { cause: error });
  return new KafkaRefusal(refusal.code, `${refusal.code}: ${refusal.reason}`, error);
}

/** Kafka's name for the reason, when a broker answered. Of several attempts the last answer counts. */
function refusalIn(error: unknown): { code: string; reason: string } | undefined {
  if (error instanceof MultipleErrors)
    return error.errors.map(refusalIn).findLast(each => each !== undefined);
  if (error instanceof GenericError && typeof error.apiId === 'string') {
    return { code: error.apiId, reason: error.message };
  }
  return undefined;
}

/** The innermost cause, which is the one that says something. */
function reasonOf(error: unknown): string {
  if (error instanceof MultipleErrors && error.errors.length > 0) return reasonOf(error.errors.at(-1));
  if (error instanceof Error && error.cause instanceof Error)
    return `${error.message} ${reasonOf(error.cause)}`;
  return error instanceof Error ? error.message : String(error);
}

/** Ends by its deadline, whatever becomes of the work, and fails with one of the failures above. */
export async function within<Result>(
  clock: Clock,
  deadlineMs: number,
  what: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const late = () => new KafkaUnavailable(`${what} took longer than ${deadlineMs} ms`);
  try {
    return await withinDeadline(clock, deadlineMs, work(), late);
  } catch (error) {
    throw failureOf(error);
  }
}
