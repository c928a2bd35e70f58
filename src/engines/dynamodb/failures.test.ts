import { describe, expect, test } from 'bun:test';
import { DynamoError, failureOf, isUnanswered, refusedItems } from './failures.ts';

const answered = (name: string, status = 400, more: object = {}): DynamoError =>
  new DynamoError(status, JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${name}`, ...more }));
const cancelled = (codes: readonly string[] | undefined, message = '') =>
  answered('TransactionCanceledException', 400, {
    message,
    ...(codes === undefined ? {} : { CancellationReasons: codes.map(Code => ({ Code })) }),
  });
const refused = answered('ConditionalCheckFailedException');

test('an answer that is not the engine’s says what it can, and its status decides', () => {
  const error = new DynamoError(503, '<html>busy</html>');
  expect(error).toMatchObject({ name: 'HTTP 503', message: '<html>busy</html>', status: 503 });
  expect([failureOf(error), isUnanswered(error)]).toEqual(['transient', true]);
  expect(failureOf(new DynamoError(403, 'null'))).toBe('final');
});

describe('an error of the engine', () => {
  test.each([
    'ProvisionedThroughputExceededException',
    'RequestLimitExceeded',
    'ThrottlingException',
    'TransactionConflictException',
    'TransactionInProgressException',
  ])('%s is transient', name => {
    expect(failureOf(answered(name))).toBe('transient');
  });

  test('is transient when the engine had an internal error', () => {
    expect(failureOf(answered('InternalServerError', 500))).toBe('transient');
    expect(failureOf(answered('SomethingNew', 503))).toBe('transient');
  });

  test('is final when trying again would change nothing', () => {
    for (const name of ['AccessDeniedException', 'ResourceNotFoundException', 'UnrecognizedClientException'])
      expect(failureOf(answered(name))).toBe('final');
    expect(failureOf(new DOMException('', 'AbortError'))).toBe('final');
    expect(failureOf('not even an error')).toBe('final');
  });

  test('is a fault of ours when the request was not understood', () => {
    expect(failureOf(answered('ValidationException'))).toBe('fault');
  });

  test('without an answer is a lost connection', () => {
    expect(failureOf(new TypeError('fetch failed'))).toBe('lost');
    expect(failureOf(Object.assign(new Error('closed'), { code: 'ECONNRESET' }))).toBe('lost');
  });
});

describe('a condition that did not hold', () => {
  test('is an answer, of one write and of a transaction', () => {
    expect(failureOf(refused)).toBe('refused');
    expect(failureOf(cancelled(['None', 'ConditionalCheckFailed']))).toBe('refused');
    expect(failureOf(cancelled(['TransactionConflict', 'ConditionalCheckFailed']))).toBe('refused');
  });

  test('is identified by its position, also where the engine gives its reasons only in the message', () => {
    const codes = ['None', 'ConditionalCheckFailed', 'TransactionConflict', 'ConditionalCheckFailed'];
    expect(refusedItems(cancelled(codes))).toEqual([1, 3]);
    expect(refusedItems(cancelled(undefined, `cancelled for [${codes.join(', ')}]`))).toEqual([1, 3]);
  });
});

test('a transaction that lost against another, or was throttled, is worth trying again; a wrong one is not', () => {
  expect(failureOf(cancelled(['TransactionConflict', 'None', 'ThrottlingError']))).toBe('transient');
  expect(failureOf(cancelled(['ProvisionedThroughputExceeded', 'None']))).toBe('transient');
  expect(failureOf(cancelled(['None', 'ValidationError']))).toBe('final');
  expect(failureOf(cancelled([]))).toBe('final');
});
