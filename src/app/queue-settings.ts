/** The settings of queued writes: how fast the queue is emptied, and how long it may become. */
import { number } from './setting-row.ts';
import { wholeNumber } from './setting-values.ts';

export const queueSettings = {
  drainPerS: number({
    env: 'TERSE_DRAIN_PER_S',
    read: wholeNumber(1, 1_000_000),
    default: '200',
    values: '1 to 1000000',
    doc: 'Queued links that each process with the worker role stores per second; after a pause as many at once.',
  }),
  queueMax: number({
    env: 'TERSE_QUEUE_MAX',
    read: wholeNumber(1, 1_000_000_000),
    default: '1000000',
    values: '1 to 1000000000',
    doc: 'Links that may wait in the queue; beyond it new ones are answered with 503.',
  }),
} as const;
