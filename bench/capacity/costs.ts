/** Monthly costs, largest first. Prices are round assumptions; the order is what matters. */
import type { Assumptions } from './assumptions.ts';
import { gb } from './demands.ts';
import type { Fleet } from './fleet.ts';
import type { UnitFigures } from './unit-figures.ts';
import { secondsPerDay } from './week.ts';

export interface CostDriver {
  readonly what: string;
  readonly amount: number;
  readonly measure: string;
  readonly dollarsPerMonth: number;
}

const daysPerMonth = 30;
const hoursPerMonth = daysPerMonth * 24;
const secondsPerMonth = daysPerMonth * secondsPerDay;

export function costDrivers(fleet: Fleet, assumptions: Assumptions, figures: UnitFigures): CostDriver[] {
  const { average, parts, sizes } = fleet;
  const { replication, urlBytes, store } = assumptions;
  const driver = (what: string, amount: number, measure: string, price: number): CostDriver => ({
    what,
    amount,
    measure,
    dollarsPerMonth: amount * price,
  });
  const machines = parts
    .filter(({ part }) => part.coresPerUnit > 0)
    .map(({ part, units }) =>
      driver(
        `machines: ${part.name}`,
        units * part.copies * part.coresPerUnit * hoursPerMonth,
        'core hours',
        figures.coreHourPrice,
      ),
    );
  const perMonth = (name: string): number => {
    const demands = parts.flatMap(({ part }) => part.demands(average));
    return ((demands.find(({ resource }) => resource === name)?.amount ?? 0) * secondsPerMonth) / 1e6;
  };
  const ofStore =
    store === 'dynamodb'
      ? [
          driver('link store: writes', perMonth('WCU'), 'million WCU', figures.wcuMillionPrice),
          driver('link store: reads', perMonth('RCU'), 'million RCU', figures.rcuMillionPrice),
          driver('link store: links kept', sizes.links / gb, 'GB', figures.dynamoGbMonthPrice),
        ]
      : [driver('disk: links', (2 * sizes.links) / gb, 'GB', figures.diskGbMonthPrice)];
  const outGb = (average.redirectsPerS * secondsPerMonth * (figures.answerBytes + urlBytes)) / gb;
  return [
    ...machines,
    ...ofStore,
    driver('disk: stream', (sizes.stream * replication) / gb, 'GB', figures.diskGbMonthPrice),
    driver('disk: single clicks', sizes.rawClicks / gb, 'GB', figures.diskGbMonthPrice),
    driver('disk: counts', sizes.counts / gb, 'GB', figures.diskGbMonthPrice),
    driver('network: answers to visitors', outGb, 'GB', figures.egressGbPrice),
  ].toSorted((one, other) => other.dollarsPerMonth - one.dollarsPerMonth);
}
