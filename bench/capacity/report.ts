/** The report of a plan, as tables for people and as one object for programs. */
import { formatCount, measure } from '../kit/measure.ts';
import type { Cell, Table } from '../kit/table.ts';
import type { Assumptions } from './assumptions.ts';
import { hitShareAtBest } from './cache-tiers.ts';
import { costDrivers } from './costs.ts';
import { gb, tb } from './demands.ts';
import { type Fleet, planFleet } from './fleet.ts';
import { type Demand, type Strain, strainsAsPlanned, strainsAtMost } from './parts.ts';
import { type KnownFigure, unitFigures } from './unit-figures.ts';
import { type Hour, hoursOfWeek, secondsPerDay, weekOfParts } from './week.ts';

export interface CapacityReport {
  readonly assumptions: Assumptions;
  readonly figures: readonly KnownFigure[];
  readonly fleet: Fleet;
  readonly hours: readonly Hour[];
  readonly week: ReturnType<typeof weekOfParts>;
  readonly costs: ReturnType<typeof costDrivers>;
  /** The scarcest resources: of the planned parts, and of those with a maximum. */
  readonly planned: readonly Strain[];
  readonly limits: readonly Strain[];
}

export function capacityReport(assumptions: Assumptions, figures: readonly KnownFigure[]): CapacityReport {
  const units = unitFigures(figures);
  const fleet = planFleet(assumptions, units);
  const hours = hoursOfWeek(assumptions, fleet.tiers, fleet.parts);
  return {
    assumptions,
    figures,
    fleet,
    hours,
    week: weekOfParts(hours, fleet.parts),
    costs: costDrivers(fleet, assumptions, units),
    planned: strainsAsPlanned(fleet.parts, fleet.peak),
    limits: strainsAtMost([...fleet.parts, ...fleet.limits], fleet.peak),
  };
}

const percent = (share: number, digits = 1): Cell => measure(share * 100, digits);

export function reportTables(report: CapacityReport): Table[] {
  return [
    traffic(report),
    tiers(report),
    parts(report),
    week(report),
    sizes(report),
    limits(report),
    costs(report),
  ];
}

function traffic({
  fleet: { average, peak },
  assumptions: { redirectsPerDay, peakFactor },
}: CapacityReport): Table {
  const rate = (what: string, atAverage: number, atPeak: number): Cell[] => [
    what,
    measure(atAverage),
    measure(atPeak),
  ];
  const asked = redirectsPerDay / secondsPerDay;
  return {
    title: 'Traffic',
    columns: ['what', 'a second on average', 'in the busiest second'],
    rows: [
      rate('links followed', asked, asked * peakFactor),
      rate('of them here and not at the edge', average.redirectsPerS, peak.redirectsPerS),
      rate('links made', average.createsPerS, peak.createsPerS),
      rate('links changed', average.changesPerS, peak.changesPerS),
    ],
  };
}

function tiers({ fleet: { tiers: shares, popularity, peak }, assumptions }: CapacityReport): Table {
  const { l1Entries, workingSet, zipf } = assumptions;
  const perS = (share: number): Cell => measure((peak.redirectsPerS / (1 - shares.edge)) * share);
  const best = hitShareAtBest(popularity, l1Entries) * 100;
  return {
    title: `Where they are answered: ${formatCount(workingSet)} links a day, Zipf ${zipf}`,
    columns: ['where', '% of all', 'in the busiest second'],
    rows: [
      ['at the edge', percent(shares.edge, 2), perS(shares.edge)],
      ['in the memory of a process', percent(shares.memory, 2), perS(shares.memory)],
      ['in the shared cache', percent(shares.shared, 2), perS(shares.shared)],
      ['by the store', percent(shares.store, 2), perS(shares.store)],
    ],
    notes: [
      `Memory of ${formatCount(l1Entries)} links per process, computed as LRU; no choice of links could answer more than ${best.toFixed(1)}%.`,
      `The shared cache holds ${formatCount(Math.round(shares.sharedEntries))} links at a time.`,
    ],
  };
}

function parts({ fleet }: CapacityReport): Table {
  const { sizes: bytes, processes } = fleet;
  return {
    title: 'What it takes',
    columns: ['part', 'units', 'with replicas', 'unit', 'set by', 'needed in the busiest second'],
    rows: fleet.parts.map(({ part, units, unitsNeeded, setBy }) => [
      part.name,
      units < unitsNeeded ? `${formatCount(units)}, needs ${formatCount(unitsNeeded)}` : formatCount(units),
      formatCount(units * part.copies),
      part.unit,
      setBy.resource,
      amountOf(setBy),
    ]),
    notes: [
      `${formatCount(processes)} processes of up to ${(bytes.process / gb).toFixed(1)} GB each.`,
      `A click takes ${fleet.clickBytes.toFixed(0)} bytes in the stream, by how many share a frame.`,
    ],
  };
}

const amountOf = ({ amount, measure: unit }: Demand): string =>
  `${amount.toLocaleString('en-US', { maximumSignificantDigits: 3 })} ${unit}`;

function week({ week: rows, hours, assumptions }: CapacityReport): Table {
  const most = hours.reduce((longest, hour) => (hour.queued > longest.queued ? hour : longest));
  const left = hours.at(-1)!.queued;
  const queue =
    assumptions.writes === 'direct'
      ? []
      : [
          `At most ${formatCount(Math.round(most.queued))} new links wait for the store (${most.name}), ${formatCount(Math.round(left))} are left on Sunday night.`,
          ...(most.queued > assumptions.queueMax
            ? [`More than ${formatCount(assumptions.queueMax)} may not wait: the others would get 503.`]
            : []),
          ...(assumptions.drainPerS * secondsPerDay < assumptions.linksPerDay
            ? ['The queue grows without end: more links are made than --drain-per-s lets through.']
            : []),
        ];
  return {
    title: 'A week, hour by hour: how busy or full the tightest resource of each part is',
    columns: ['part', '% on average', 'busiest hour', '% in it', '% in the busiest second'],
    rows: rows.map(({ name, average, busiestHour, inThatHour, atPeak }) => [
      name,
      percent(average),
      inThatHour > average * 1.001 ? busiestHour : 'any',
      percent(inThatHour),
      percent(atPeak),
    ]),
    notes: queue,
  };
}

function sizes({ fleet: { sizes: bytes }, assumptions }: CapacityReport): Table {
  const inTb = (size: number): Cell => measure(size / tb, 2);
  const { replication, linksPerDay, clickDays, countDays, streamHours } = assumptions;
  return {
    title: 'What lies around',
    columns: ['what', 'TB', 'TB more a day'],
    rows: [
      [`links, ${formatCount(linksPerDay)} more a day`, inTb(bytes.links), inTb(bytes.linksPerDay)],
      ['shared cache', inTb(bytes.sharedCache), inTb(0)],
      [`stream, ${streamHours} hours in ${replication} copies`, inTb(bytes.stream * replication), inTb(0)],
      [`single clicks of ${clickDays} days`, inTb(bytes.rawClicks), inTb(0)],
      [`counts of ${countDays} days`, inTb(bytes.counts), inTb(bytes.countsPerDay)],
    ],
  };
}

function costs({ costs: drivers }: CapacityReport): Table {
  const total = drivers.reduce((sum, { dollarsPerMonth }) => sum + dollarsPerMonth, 0);
  return {
    title: 'What drives the cost, a month',
    columns: ['what', 'amount', 'of', '% of the cost'],
    rows: drivers.map(({ what, amount, measure: unit, dollarsPerMonth }) => [
      what,
      measure(amount),
      unit,
      percent(dollarsPerMonth / total),
    ]),
    notes: [
      `About $${formatCount(Math.round(total / 1_000) * 1_000)} at round, assumed prices: --figures shows them.`,
    ],
  };
}

function limits({ limits: strains }: CapacityReport): Table {
  return {
    title: 'What more units do not help',
    columns: ['what', 'of', 'asked for in the busiest second', '% of what may be used'],
    rows: strains.map(({ part, demand, share }) => [
      `${part.name}: ${demand.resource}`,
      part.unit,
      amountOf(demand),
      percent(share),
    ]),
  };
}

export function reportWords({ planned, limits: atMost, figures }: CapacityReport): string {
  const count = (origins: readonly string[]): number =>
    figures.filter(({ origin }) => origins.includes(origin)).length;
  return [
    `First to give out of what is planned: ${strainWords(firstOf(planned))}.`,
    `First bottleneck that more units do not lift: ${strainWords(firstOf(atMost))}.`,
    `Of ${figures.length} figures per unit ${count(['measured'])} are measured, ` +
      `${count(['documented'])} documented, ${count(['given'])} given and ${count(['assumed'])} assumed (--figures).`,
    '',
  ].join('\n');
}

/** Skips demands that depend on settings unless they are too high already: they do not grow with traffic. */
const firstOf = (strains: readonly Strain[]): Strain =>
  strains.find(({ demand, share }) => demand.isFixed !== true || share > 1) ?? strains[0]!;

const strainWords = ({ part, demand, share }: Strain): string =>
  `${part.name}, ${part.unit} (${demand.resource}: ${amountOf(demand)}, ${(share * 100).toFixed(0)}% of what may be used)`;

export function figuresTable(figures: readonly KnownFigure[]): Table {
  return {
    title: 'Figures per unit',
    columns: ['figure', 'value', 'unit', 'origin', 'source'],
    rows: figures.map(({ name, value, unit, origin, source }) => [
      name,
      value.toLocaleString('en-US', { maximumSignificantDigits: 6 }),
      unit,
      origin,
      source,
    ]),
  };
}
