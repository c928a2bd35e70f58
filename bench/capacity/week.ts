/**
 * Seven days of traffic, hour by hour: a curve over the day, quieter weekends, and in every hour a busiest second, with
 * the same ratio to its hour as in the busiest hour of the week. The average of the week is the assumed daily traffic.
 */
import type { Assumptions } from './assumptions.ts';
import type { Tiers } from './cache-tiers.ts';
import { type Load, type PlannedPart, usesOf } from './parts.ts';

export const secondsPerDay = 86_400;
const secondsPerHour = 3_600;
const hoursPerDay = 24;
const daysPerWeek = 7;
const busiestHour = 20;
export const dayNames = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;
const firstDayOfWeekend = 5;

/** The traffic of each hour of the week, from Monday's midnight on, relative to the average hour. */
export function weekCurve({
  dayPeak,
  weekendShare,
}: Pick<Assumptions, 'dayPeak' | 'weekendShare'>): number[] {
  const weekend = daysPerWeek - firstDayOfWeekend;
  const average = (firstDayOfWeekend + weekend * weekendShare) / daysPerWeek;
  return Array.from({ length: daysPerWeek * hoursPerDay }, (_, hour) => {
    const day = Math.floor(hour / hoursPerDay);
    const angle = (2 * Math.PI * ((hour % hoursPerDay) - busiestHour)) / hoursPerDay;
    const ofDay = 1 + (dayPeak - 1) * Math.cos(angle);
    return (ofDay * (day < firstDayOfWeekend ? 1 : weekendShare)) / average;
  });
}

/** The load at a multiple of the average. */
export function loadAt(assumptions: Assumptions, { edge }: Tiers, times: number, daysGone = 0): Load {
  const { redirectsPerDay, linksPerDay, changesPerDay, linksKept } = assumptions;
  return {
    redirectsPerS: (redirectsPerDay / secondsPerDay) * (1 - edge) * times,
    createsPerS: (linksPerDay / secondsPerDay) * times,
    changesPerS: (changesPerDay / secondsPerDay) * times,
    linksKept: linksKept + linksPerDay * daysGone,
  };
}

export const peakLoad = (assumptions: Assumptions, tiers: Tiers): Load =>
  loadAt(assumptions, tiers, peakTimes(assumptions), daysPerWeek);

/** The peak is never below the average of its hour. */
const peakTimes = (assumptions: Assumptions): number =>
  Math.max(assumptions.peakFactor, ...weekCurve(assumptions));

export interface Hour {
  /** Such as `Wed 20`. */
  readonly name: string;
  readonly redirectsPerS: number;
  readonly createsPerS: number;
  /** New links that wait for the store at the end of the hour. */
  readonly queued: number;
  /** The use of each part's busiest resource, by part: over the hour, and in its busiest second. */
  readonly use: Readonly<Record<string, number>>;
  readonly useAtPeak: Readonly<Record<string, number>>;
}

export function hoursOfWeek(assumptions: Assumptions, tiers: Tiers, parts: readonly PlannedPart[]): Hour[] {
  const curve = weekCurve(assumptions);
  const burst = peakTimes(assumptions) / Math.max(...curve);
  const useOf = (load: Load): Record<string, number> =>
    Object.fromEntries(
      parts.map(planned => [planned.part.name, Math.max(...usesOf(planned, load).map(({ share }) => share))]),
    );
  let queued = 0;
  return curve.map((times, index) => {
    const daysGone = index / hoursPerDay;
    const load = loadAt(assumptions, tiers, times, daysGone);
    if (assumptions.writes === 'queued') {
      queued = Math.max(0, queued + (load.createsPerS - assumptions.drainPerS) * secondsPerHour);
    }
    const name = `${dayNames[Math.floor(daysGone)]!} ${String(index % hoursPerDay).padStart(2, '0')}`;
    const { redirectsPerS, createsPerS } = load;
    const useAtPeak = useOf(loadAt(assumptions, tiers, times * burst, daysGone));
    return { name, redirectsPerS, createsPerS, queued, use: useOf(load), useAtPeak };
  });
}

export interface WeekOfPart {
  readonly name: string;
  readonly average: number;
  readonly busiestHour: string;
  readonly inThatHour: number;
  /** The use in the busiest second of the week. */
  readonly atPeak: number;
}

export function weekOfParts(hours: readonly Hour[], parts: readonly PlannedPart[]): WeekOfPart[] {
  return parts.map(({ part: { name } }) => {
    const busiest = hours.reduce((most, hour) => (hour.use[name]! > most.use[name]! ? hour : most));
    return {
      name,
      average: hours.reduce((sum, hour) => sum + hour.use[name]!, 0) / hours.length,
      busiestHour: busiest.name,
      inThatHour: busiest.use[name]!,
      atPeak: Math.max(...hours.map(hour => hour.useAtPeak[name]!)),
    };
  });
}
