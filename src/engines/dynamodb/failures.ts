/**
 * What an error of the engine means for the call that got it. A condition that did not hold is an ordinary answer; a
 * transient failure is retried; a lost connection too, but not for long; a request that the engine does not understand
 * is a fault of ours; the rest is final.
 */
import { ConditionalCheckFailedException, TransactionCanceledException } from '@aws-sdk/client-dynamodb';

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
  if (error instanceof ConditionalCheckFailedException) return 'refused';
  if (error instanceof TransactionCanceledException) {
    const reasons = reasonsOf(error);
    if (reasons.includes(refusal)) return 'refused';
    return reasons.length > 0 && reasons.every(reason => transientReasons.has(reason))
      ? 'transient'
      : 'final';
  }
  if (!(error instanceof Error)) return 'final';
  if (transientNames.has(error.name)) return 'transient';
  if (error.name === 'ValidationException' || error.name === 'SerializationException') return 'fault';
  const { $metadata: metadata } = error as { $metadata?: { httpStatusCode?: number } };
  if (metadata?.httpStatusCode === undefined) return error.name === 'AbortError' ? 'final' : 'lost';
  return metadata.httpStatusCode >= 500 ? 'transient' : 'final';
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
  const { name, code, $metadata } = (error ?? {}) as {
    readonly name?: string;
    readonly code?: unknown;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  if (name === 'TransactionInProgressException') return true;
  const status = $metadata?.httpStatusCode;
  return status === undefined ? !unsentCodes.has(code) : status >= 500;
}

/** The positions of a transaction's items whose conditions did not hold. */
export function refusedItems(error: unknown): number[] {
  if (!(error instanceof TransactionCanceledException)) return [];
  return reasonsOf(error).flatMap((reason, position) => (reason === refusal ? [position] : []));
}

function reasonsOf({ CancellationReasons = [], message }: TransactionCanceledException): string[] {
  if (CancellationReasons.length > 0) return CancellationReasons.map(({ Code }) => Code ?? 'None');
  // Engines that speak the protocol without giving the list still name the reasons in the message.
  const listed = /\[([\w, ]+)\]/.exec(message)?.[1];
  return listed === undefined ? [] : listed.split(',').map(reason => reason.trim());
}
