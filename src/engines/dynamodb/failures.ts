/**
 * What an error of the engine means for the call that met it. A condition that did not hold is an ordinary answer; what
 * passes by itself is tried again; a lost connection too, but not for long; a request that the engine does not understand
 * is a fault of ours; the rest is final.
 */
import { ConditionalCheckFailedException, TransactionCanceledException } from '@aws-sdk/client-dynamodb';

export type Failure = 'refused' | 'passing' | 'lost' | 'fault' | 'final';

/** The engine is asked too much, or another transaction has its hand on the item, or the engine stumbled. */
const passingNames: ReadonlySet<string> = new Set([
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
const passingReasons: ReadonlySet<string> = new Set([
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
    return reasons.length > 0 && reasons.every(reason => passingReasons.has(reason)) ? 'passing' : 'final';
  }
  if (!(error instanceof Error)) return 'final';
  if (passingNames.has(error.name)) return 'passing';
  if (error.name === 'ValidationException' || error.name === 'SerializationException') return 'fault';
  const { $metadata: metadata } = error as { $metadata?: { httpStatusCode?: number } };
  if (metadata?.httpStatusCode === undefined) return error.name === 'AbortError' ? 'final' : 'lost';
  return metadata.httpStatusCode >= 500 ? 'passing' : 'final';
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
