/**
 * Real time, but with a minute more for every deadline: for tests on real engines, where a busy machine is no fault of
 * the engine. Tests of the deadlines themselves use the system's clock.
 */
import { type Clock, systemClock } from '../../src/base/clock.ts';

/** Shorter waits are pauses between attempts, or what a read may cost before another server is asked. */
const pauseMaxMs = 250;
const extraMs = 60_000;

export const patientClock: Clock = {
  ...systemClock,
  after: (delayMs, task) => systemClock.after(delayMs > pauseMaxMs ? delayMs + extraMs : delayMs, task),
};
