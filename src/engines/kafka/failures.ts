/**
 * What a failure of Kafka means to a caller. Either nobody knows whether it was done, because no answer came in time; or a
 * broker said no, and nothing was done; or it said no because somebody else has taken our place in the group. Everything
 * the client library throws becomes one of these.
 */
import { GenericError, MultipleErrors } from '@platformatic/kafka';
import type { Clock } from '../../base/clock.ts';

/** No answer, or none in time: nobody knows whether it was done. */
export class KafkaUnavailable extends Error {
  override readonly name = 'KafkaUnavailable';
}

/** A broker answered, with a no. `code` is its name for the reason, such as MESSAGE_TOO_LARGE. */
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

/** Said of a partition that is about to have another leader, or its first. */
const leaderless: ReadonlySet<string> = new Set([
  'NOT_LEADER_OR_FOLLOWER',
  'LEADER_NOT_AVAILABLE',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'OFFSET_NOT_AVAILABLE',
  'UNKNOWN_TOPIC_OR_PARTITION',
]);

/** Whether the same may well succeed in a moment. */
export function isPassing(error: unknown): boolean {
  const failure = failureOf(error);
  return failure instanceof KafkaRefusal ? leaderless.has(failure.code) : failure instanceof KafkaUnavailable;
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

/** What Kafka calls the reason, when it was a broker that spoke. Of several attempts the last word counts. */
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
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(deadlineMs, () =>
    late.reject(new KafkaUnavailable(`${what} took longer than ${deadlineMs} ms`)),
  );
  try {
    return await Promise.race([work(), late.promise]);
  } catch (error) {
    throw failureOf(error);
  } finally {
    cancel();
  }
}
