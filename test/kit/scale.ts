/**
 * The sizes of heavy tests. Everyday runs take seconds; TERSE_TEST_SCALE=full uses the sizes of the published figures.
 * This is the only place that knows the difference.
 */
const isFull = process.env.TERSE_TEST_SCALE === 'full';

export function scaled<Value>(small: Value, full: Value): Value {
  return isFull ? full : small;
}

/** Generous on purpose: it only ends a run that hangs. */
export const heavyTestMaxMs = scaled(180_000, 3_600_000);
