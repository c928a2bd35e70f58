import { describe, expect, test } from 'bun:test';
import { type Assumptions, defaultAssumptions } from './assumptions.ts';
import { planFleet } from './fleet.ts';
import { knownFigures, unitFigures } from './unit-figures.ts';
import { hoursOfWeek, weekCurve, weekOfParts } from './week.ts';

const figures = unitFigures(knownFigures(new Map()));
const average = (numbers: readonly number[]): number =>
  numbers.reduce((sum, each) => sum + each, 0) / numbers.length;

function played(changes: Partial<Assumptions> = {}) {
  const assumptions = { ...defaultAssumptions, ...changes };
  const fleet = planFleet(assumptions, figures);
  const hours = hoursOfWeek(assumptions, fleet.tiers, fleet.parts);
  return { assumptions, fleet, hours, week: weekOfParts(hours, fleet.parts) };
}

describe('a week', () => {
  test('has as much traffic as was assumed, with quiet nights and weekends', () => {
    const curve = weekCurve(defaultAssumptions);
    expect(curve).toHaveLength(168);
    expect(average(curve)).toBeCloseTo(1, 9);
    expect(curve[20]! / curve[8]!).toBeCloseTo(1.6 / 0.4, 9);
    expect(curve[5 * 24 + 20]! / curve[20]!).toBeCloseTo(defaultAssumptions.weekendShare, 9);
  });

  test('is flat where it is assumed to be', () => {
    for (const times of weekCurve({ dayPeak: 1, weekendShare: 1 })) expect(times).toBeCloseTo(1, 9);
  });

  test('has its busiest second where the plan was made for it', () => {
    const { fleet, week } = played();
    const redirects = fleet.parts[0]!;
    const [demand] = redirects.part.demands(fleet.peak);
    expect(week[0]!.name).toBe('redirects');
    expect(week[0]!.atPeak).toBeCloseTo(demand!.amount / (demand!.perUnit * redirects.units), 6);
    expect(week[0]!.busiestHour).toBe('Mon 20');
    expect(week[0]!.average).toBeLessThan(week[0]!.inThatHour);
    expect(week[0]!.inThatHour).toBeLessThan(week[0]!.atPeak);
  });

  test('keeps nothing waiting where links go to the store at once', () => {
    expect(played().hours.every(({ queued }) => queued === 0)).toBe(true);
  });

  test('queues new links in the evening and has stored them by the morning', () => {
    const { hours } = played({ writes: 'queued', drainPerS: 1_400 });
    const most = hours.reduce((longest, hour) => (hour.queued > longest.queued ? hour : longest));
    expect(most.queued).toBeGreaterThan(0);
    expect(hours.find(({ name }) => name === 'Tue 12')!.queued).toBe(0);
  });

  test('leaves a queue that has grown by all that was not let through', () => {
    const { hours, assumptions } = played({ writes: 'queued', drainPerS: 100, weekendShare: 1, dayPeak: 1 });
    const left = 7 * (assumptions.linksPerDay - 100 * 86_400);
    expect(hours.at(-1)!.queued / left).toBeCloseTo(1, 6);
  });
});
