/**
 * How large the heavy tests are. Everyday runs take seconds; TERSE_TEST_SCALE=full gives the sizes that the
 * published figures were measured with. This is the only place that knows the difference.
 */
const isFull = process.env.TERSE_TEST_SCALE === 'full';

export function scaled<Value>(small: Value, full: Value): Value {
  return isFull ? full : small;
}

/** Generous on purpose: a time limit here only ends a run that hangs, it measures nothing. */
export const heavyTestMaxMs = scaled(180_000, 3_600_000);
