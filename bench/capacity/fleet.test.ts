import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Assumptions, defaultAssumptions } from './assumptions.ts';
import { costDrivers } from './costs.ts';
import { type Fleet, planFleet } from './fleet.ts';
import { strainsAsPlanned, strainsAtMost, usesOf } from './parts.ts';
import { knownFigures, unitFigures } from './unit-figures.ts';

const figures = unitFigures(knownFigures(new Map()));
const planned = (changes: Partial<Assumptions>): Fleet =>
  planFleet({ ...defaultAssumptions, ...changes }, figures);
const unitsOf = (fleet: Fleet): Record<string, number> =>
  Object.fromEntries(fleet.parts.map(({ part, unitsNeeded }) => [part.name, unitsNeeded]));

/** Assumptions that increase the load. */
const drivers = [
  'linksPerDay',
  'redirectsPerDay',
  'changesPerDay',
  'peakFactor',
  'urlBytes',
  'linksKept',
  'replication',
] as const;

describe('a plan', () => {
  test.each(['dynamodb', 'postgres'] as const)('never has fewer units for more traffic (%s)', store => {
    fc.assert(
      fc.property(
        fc.constantFrom(...drivers),
        fc.double({ min: 0.001, max: 5, noNaN: true }),
        fc.double({ min: 1, max: 10, noNaN: true }),
        (name, times, more) => {
          const value = defaultAssumptions[name] * times;
          const [few, many] = [value, value * more].map(each => unitsOf(planned({ store, [name]: each })));
          for (const part of Object.keys(few!)) expect(many![part]).toBeGreaterThanOrEqual(few![part]!);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('keeps every part that can be multiplied within what it may use', () => {
    const fleet = planned({});
    for (const { part, demand, share } of strainsAsPlanned(fleet.parts, fleet.peak)) {
      if (!Number.isFinite(part.unitsMax))
        expect(`${demand.resource} ${share <= 1}`).toBe(`${demand.resource} true`);
    }
  });

  test('has no unit too many: with one less, a resource would run out or too few units would be left', () => {
    const fleet = planned({});
    for (const { part, units, setBy } of fleet.parts) {
      const needed = setBy.amount / (setBy.perUnit * setBy.useMax);
      expect(units === part.unitsMin || units === part.unitsMax || units - 1 < needed).toBe(true);
    }
  });

  test('reports a part that needs more than all available units', () => {
    const fleet = planned({ linksPerDay: 1e9 });
    const store = fleet.parts.find(({ part }) => part.name === 'link store')!;
    expect(store.unitsNeeded).toBeGreaterThan(store.units);
    expect(strainsAtMost(fleet.parts, fleet.peak)[0]!.share).toBeGreaterThan(1);
    expect(usesOf(store, fleet.peak)[0]!.share).toBeGreaterThan(1);
  });

  test('buys less memory for the shared cache at the price of more reads of the store', () => {
    const [all, little] = [planned({}), planned({ cacheGb: 20 })];
    expect(little.sizes.sharedCache).toBeLessThanOrEqual(20.001e9);
    expect(little.sizes.sharedCache).toBeLessThan(all.sizes.sharedCache);
    expect(little.tiers.store).toBeGreaterThan(all.tiers.store);
  });

  test('spends more bytes on a click the more processes and partitions share them', () => {
    expect(planned({ partitions: 100 }).clickBytes).toBeGreaterThan(planned({ partitions: 10 }).clickBytes);
    expect(planned({ redirectsPerDay: 1e6 }).clickBytes).toBeGreaterThan(planned({}).clickBytes);
  });

  test('lets no more writes through a queue than it drains', () => {
    const writesOf = (changes: Partial<Assumptions>): number =>
      strainsAtMost(planned(changes).parts, planned(changes).peak).find(
        ({ demand }) => demand.resource === 'WCU',
      )!.demand.amount;
    expect(writesOf({ writes: 'queued', drainPerS: 200, changesPerDay: 0 })).toBe(200 * figures.createWcu);
    expect(writesOf({ changesPerDay: 0 })).toBeGreaterThan(20_000);
  });
});

describe('its cost', () => {
  test.each(['dynamodb', 'postgres'] as const)('is listed by driver, the largest first (%s)', store => {
    const assumptions = { ...defaultAssumptions, store };
    const costs = costDrivers(planFleet(assumptions, figures), assumptions, figures);
    const dollars = costs.map(({ dollarsPerMonth }) => dollarsPerMonth);
    expect(dollars).toEqual(dollars.toSorted((one, other) => other - one));
    expect(dollars.every(each => each > 0)).toBe(true);
    expect(costs.some(({ measure }) => measure === 'million WCU')).toBe(store === 'dynamodb');
  });
});
