/** Time in a browser, where timers are numbers and nothing needs to be kept alive. For the dashboard only. */
import type { Clock } from './clock.ts';

export const browserClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  every(periodMs, task) {
    const timer = setInterval(task, periodMs);
    return () => clearInterval(timer);
  },
};
