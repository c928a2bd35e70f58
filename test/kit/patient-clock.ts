/**
 * Real time, but with an extra minute for every deadline: for tests on real engines, which must not fail on a busy
 * machine. Tests of the deadlines themselves use the system's clock.
 */
import { type Clock, systemClock } from '../../src/base/clock.ts';

/** Shorter waits are not deadlines, but pauses between attempts or before another server is asked. */
const pauseMaxMs = 250;
const extraMs = 60_000;

export const patientClock: Clock = {
  ...systemClock,
  after: (delayMs, task) => systemClock.after(delayMs > pauseMaxMs ? delayMs + extraMs : delayMs, task),
};
