/** Ends the fine grain of old minutes, a little at a time: quarter hours and days stay. */
import type { Clock } from '../base/clock.ts';

export interface DropMinutesOptions {
  readonly minuteDays: number;
  readonly clock: Clock;
  readonly dropMinutes: (before: number, rowsMax: number) => Promise<number>;
}

const dayMs = 24 * 60 * 60_000;
const rowsPerBite = 2_000;
/** Time that one round may spend. */
const dropMaxMs = 300;

export async function dropOldMinutes({ minuteDays, clock, dropMinutes }: DropMinutesOptions): Promise<void> {
  const before = clock.now() - minuteDays * dayMs;
  const deadlineMs = clock.monotonicMs() + dropMaxMs;
  while ((await dropMinutes(before, rowsPerBite)) > 0) {
    if (clock.monotonicMs() >= deadlineMs) break;
  }
}
