/**
 * What an error of the engine means for the call that got it. A condition that did not hold is an ordinary answer; a
 * transient failure is retried; a lost connection too, but not for long; a request that the engine does not understand
 * is a fault of ours; the rest is final.
 */
interface ErrorBody {
  readonly __type?: string;
  readonly message?: string;
  readonly Message?: string;
  readonly CancellationReasons?: readonly { readonly Code?: string }[];
}

/** An answer of the engine that is an error. */
export class DynamoError extends Error {
  override readonly name: string;
  readonly status: number;
  /** Why a transaction was cancelled, for each of its items. */
  readonly reasons: readonly string[];

  constructor(status: number, body: string) {
    const { __type: type, message, Message, CancellationReasons = [] } = errorIn(body);
    super(message ?? Message ?? body.slice(0, messageMax));
    this.status = status;
    // Such as com.amazonaws.dynamodb.v20120810#ThrottlingException.
    this.name = type?.split('#').at(-1) ?? `HTTP ${status}`;
    this.reasons = CancellationReasons.map(({ Code }) => Code ?? 'None');
  }
}

/** Of an answer that is not the engine's, but that of something in between. */
const messageMax = 200;

function errorIn(body: string): ErrorBody {
  try {
    return (JSON.parse(body) as ErrorBody | null) ?? {};
  } catch {
    return {};
  }
}

export type Failure = 'refused' | 'transient' | 'lost' | 'fault' | 'final';

/** The engine throttles, or another transaction holds the item, or the engine had an internal error. */
const transientNames: ReadonlySet<string> = new Set([
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
  'Throttling',
  'TransactionConflictException',
  'TransactionInProgressException',
  'ReplicatedWriteConflictException',
  'InternalServerError',
  'InternalFailure',
  'ServiceUnavailable',
]);

/** Why a transaction was cancelled, for each of its items; a condition that failed is no reason to try again. */
const transientReasons: ReadonlySet<string> = new Set([
  'None',
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);
const refusal = 'ConditionalCheckFailed';

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return 'final';
  const { name } = error;
  if (name === 'ConditionalCheckFailedException') return 'refused';
  if (name === 'TransactionCanceledException') {
    const reasons = reasonsOf(error);
    if (reasons.includes(refusal)) return 'refused';
    return reasons.length > 0 && reasons.every(reason => transientReasons.has(reason))
      ? 'transient'
      : 'final';
  }
  if (transientNames.has(name)) return 'transient';
  if (name === 'ValidationException' || name === 'SerializationException') return 'fault';
  if (!(error instanceof DynamoError)) return name === 'AbortError' ? 'final' : 'lost';
  return error.status >= 500 ? 'transient' : 'final';
}

/** Never sent, because nothing listens there, or the name does not resolve. */
const unsentCodes: ReadonlySet<unknown> = new Set([
  'ConnectionRefused',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'FailedToOpenSocket',
]);

/** Whether the request may have been carried out although it failed: no answer came, or one that leaves it open. */
export function isUnanswered(error: unknown): boolean {
  if (error instanceof DynamoError)
    return error.name === 'TransactionInProgressException' || error.status >= 500;
  return !unsentCodes.has((error as { readonly code?: unknown } | undefined)?.code);
}

/** The positions of a transaction's items whose conditions did not hold. */
export function refusedItems(error: unknown): number[] {
  if (!(error instanceof Error)) return [];
  return reasonsOf(error).flatMap((reason, position) => (reason === refusal ? [position] : []));
}

function reasonsOf(error: Error): readonly string[] {
  if (error instanceof DynamoError && error.reasons.length > 0) return error.reasons;
  // Engines that speak the protocol without giving the list still name the reasons in the message.
  const listed = /\[([\w, ]+)\]/.exec(error.message)?.[1];
  return listed === undefined ? [] : listed.split(',').map(reason => reason.trim());
}
