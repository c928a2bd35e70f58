/** When a link ends: a few usual choices, or a moment of one's own. */
export const expiryChoices = ['never', 'day', 'week', 'month', 'year', 'custom'] as const;
export type ExpiryChoice = (typeof expiryChoices)[number];

const dayMs = 24 * 60 * 60_000;
const afterMs: Readonly<Record<'day' | 'week' | 'month' | 'year', number>> = {
  day: dayMs,
  week: 7 * dayMs,
  month: 30 * dayMs,
  year: 365 * dayMs,
};

/** ISO 8601, or null for never; undefined while a moment of one's own is not complete. */
export function expiryOf(
  choice: ExpiryChoice,
  localMoment: string,
  nowMs: number,
): string | null | undefined {
  if (choice === 'never') return null;
  if (choice !== 'custom') return new Date(nowMs + afterMs[choice]).toISOString();
  const timeMs = Date.parse(localMoment);
  return Number.isNaN(timeMs) ? undefined : new Date(timeMs).toISOString();
}

/** As an input for date and time wants it: the local wall clock, to the minute. */
export function localMomentOf(time: string | number): string {
  const moment = new Date(time);
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
