/**
 * What is answered before there is a store: that the process lives, that it is not ready and what is missing, and 503 to
 * everyone else. Nobody is told 404, which a visitor, a crawler or a cache would believe.
 */
import { Problem } from '../base/errors.ts';
import { refusalAnswer } from './problem.ts';
import { type Answer, answerOf } from './wire/answer.ts';
import type { WireRequest } from './wire/wire-request.ts';

const retryAfterS = 5;
const jsonHeaders = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' };

const alive = answerOf(200, jsonHeaders, JSON.stringify({ status: 'ok' }));
const notReady = answerOf(
  503,
  jsonHeaders,
  JSON.stringify({ status: 'unavailable', parts: { links: 'unavailable' } }),
);

export function answerWaiting(request: WireRequest): Answer {
  if (request.path === '/health/live') return alive;
  if (request.path === '/health/ready') return notReady;
  return refusalAnswer(
    request,
    new Problem('store_unavailable', {
      detail: 'The server has started and waits for its link store.',
      headers: { 'Retry-After': String(retryAfterS) },
    }),
  );
}
