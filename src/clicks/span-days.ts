/** The UTC days that a stretch of time touches. What is kept by the day can be counted anew only by the whole day. */
import type { TimeSpan } from './replay.ts';
import { grainMs } from './warehouse.ts';

export function daysOf({ from, to }: TimeSpan): number[] {
  const first = Math.floor(from / grainMs.day) * grainMs.day;
  const days: number[] = [];
  for (let day = first; day < to; day += grainMs.day) days.push(day);
  return days;
}

export const isWholeDay = ({ from, to }: TimeSpan, day: number): boolean =>
  day >= from && day + grainMs.day <= to;
