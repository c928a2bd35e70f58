/**
 * What one of everything costs: the table behind `npm run capacity`. A figure is measured here (by a scenario of the
 * bench; what was last recorded in docs/benchmarks counts before what stands below), documented by the engine's maker, or
 * assumed until somebody has measured it. Whoever knows better says so with `--set`.
 */
import type { Medians } from '../kit/history.ts';

type Origin = 'measured' | 'documented' | 'assumed';

interface Figure {
  readonly value: number;
  readonly unit: string;
  readonly origin: Origin;
  readonly source: string;
  /** Where it stands among what was recorded; `less` is taken away from it. */
  readonly recorded?: { readonly cell: Cell; readonly less?: Cell };
}

/** Scenario, start of the table's title, row and column. */
type Cell = readonly [scenario: string, table: string, row: string, column: string];

const engines = (row: string, column: string): Cell => [
  'engines',
  'Redirects and creates',
  `Postgres + Redis, ${row}`,
  column,
];
const ofTerse = 'CPU µs of Terse';
const ofEngines = 'CPU µs of the engines';
const enginesBench = 'bench engines, on a busy machine: rather too much';
const clickhouseBench = 'bench clickhouse, merged: links with two clicks a day';
const pipeline = (stage: string): Cell => ['pipeline', 'What a click costs', stage, 'CPU µs'];

const measured = (value: number, unit: string, source: string, cell?: Cell, less?: Cell): Figure => ({
  value,
  unit,
  origin: 'measured',
  source,
  ...(cell && { recorded: { cell, ...(less && { less }) } }),
});
const documented = (value: number, unit: string, source: string): Figure => ({
  value,
  unit,
  origin: 'documented',
  source,
});
const assumed = (value: number, unit: string, source: string): Figure => ({
  value,
  unit,
  origin: 'assumed',
  source,
});

export const figureTable = {
  redirectUs: measured(8.4, 'µs of CPU', 'bench warm: one link, its click recorded', [
    'warm',
    'Redirects of warm links',
    'Terse, one link',
    'CPU µs',
  ]),
  sharedCacheUs: measured(
    49.5,
    'µs of CPU more',
    enginesBench,
    engines('redirect, from the shared cache', ofTerse),
    engines('redirect, known here', ofTerse),
  ),
  storeReadUs: measured(
    210,
    'µs of CPU more',
    enginesBench,
    engines('redirect, from the store', ofTerse),
    engines('redirect, known here', ofTerse),
  ),
  createUs: measured(302, 'µs of CPU', enginesBench, engines('create', ofTerse)),
  frameUs: measured(5, 'µs of CPU per click', 'bench sizes: frames of 100 clicks, all of different links'),
  countUs: measured(
    10.8,
    'µs of CPU of Terse per click',
    'bench pipeline, on a busy machine: reading frames and sending blocks',
    pipeline('counting'),
  ),
  redisGetUs: measured(3.5, 'µs of CPU', enginesBench, engines('redirect, from the shared cache', ofEngines)),
  redisFillUs: assumed(10, 'µs of CPU', 'a script with a read and a write, beside 3.5 for a read'),
  postgresReadUs: measured(36.8, 'µs of CPU', enginesBench, engines('redirect, from the store', ofEngines)),
  postgresCreateUs: measured(220, 'µs of CPU', enginesBench, engines('create', ofEngines)),
  postgresReadPages: assumed(2, 'pages', 'a leaf of the index and a row, neither in memory'),
  postgresCreatePages: assumed(
    6,
    'pages',
    'leaves of two indexes in random order read and written, a row, the log',
  ),
  clickhouseUs: measured(
    22.6,
    'µs of CPU per click',
    'bench pipeline, on a busy machine: Zipf over 100,000 links, merging included',
    pipeline('ClickHouse'),
  ),

  workerMb: measured(268, 'MB', 'bench warm: resident, one link, clicks recorded', [
    'warm',
    'Redirects of warm links',
    'Terse, one link',
    'resident MiB',
  ]),
  connectionBytes: measured(4_096, 'bytes', 'bench connections: 10,000 idle ones'),
  l1EntryBytes: measured(1_145, 'bytes, and the URL twice', 'bench sizes: a link in memory with its answer'),
  heapShare: measured(1.5, 'times', 'bench sizes: resident memory beside that of the heap'),
  postgresLinkBytes: measured(280, 'bytes, and the URL', 'bench sizes: rows and indexes'),
  dynamoLinkBytes: documented(
    440,
    'bytes, and the URL',
    'docs/operations/dynamodb.md: 200, and 80 in each of three indexes',
  ),
  queuedLinkBytes: assumed(400, 'bytes, and the URL', 'a whole record as text'),
  rawClickBytes: measured(13.7, 'bytes', `${clickhouseBench}; 13.0 of a busy one`),
  minuteClickBytes: measured(7.3, 'bytes', `${clickhouseBench}; 5.8 of a busy one`),
  quarterRowBytes: measured(12.3, 'bytes', clickhouseBench),
  dayRowBytes: measured(40, 'bytes', `${clickhouseBench}, visitors and lists together`),
  requestBytes: assumed(700, 'bytes', 'a browser’s headers, and those of TCP and IP'),
  answerBytes: measured(
    330,
    'bytes, and the URL',
    'the head of a redirect without its URL, and those of TCP and IP',
  ),

  readRcu: documented(0.5, 'RCU', 'docs/operations/dynamodb.md'),
  createWcu: documented(4, 'WCU', 'docs/operations/dynamodb.md'),
  changeWcu: documented(9, 'WCU', 'docs/operations/dynamodb.md'),
  pollRcu: documented(1, 'RCU', 'docs/operations/dynamodb.md: a poll of the feed, each second and process'),
  tableQuotaUnits: documented(40_000, 'RCU, and WCU', 'DynamoDB’s quota per table, until one asks for more'),
  postgresConnections: assumed(2_000, 'connections', 'beyond it Postgres spends itself on them'),
  flushesPerS: documented(5, 'a second', 'docs/clicks.md: batches that a process hands on'),

  coreHourPrice: assumed(0.04, '$', 'with its memory; a round list price of 2026'),
  diskGbMonthPrice: assumed(0.1, '$', 'a round list price of 2026'),
  egressGbPrice: assumed(0.05, '$', 'a round list price of 2026'),
  wcuMillionPrice: assumed(0.625, '$', 'on demand, a round list price of 2026'),
  rcuMillionPrice: assumed(0.125, '$', 'on demand, a round list price of 2026'),
  dynamoGbMonthPrice: assumed(0.25, '$', 'a round list price of 2026'),
} as const satisfies Readonly<Record<string, Figure>>;

export type FigureName = keyof typeof figureTable;
export const figureNames = Object.keys(figureTable) as readonly FigureName[];
export type UnitFigures = Readonly<Record<FigureName, number>>;

export interface KnownFigure {
  readonly name: FigureName;
  readonly value: number;
  readonly unit: string;
  readonly origin: Origin | 'recorded' | 'given';
  readonly source: string;
}

export function knownFigures(medians: Medians, given: ReadonlyMap<string, number>): KnownFigure[] {
  return figureNames.map(name => {
    const figure: Figure = figureTable[name];
    const { unit, source } = figure;
    const own = given.get(name);
    if (own !== undefined) return { name, value: own, unit, origin: 'given', source: '--set' };
    const value = recordedValue(medians, figure);
    if (value === undefined) return { name, value: figure.value, unit, origin: figure.origin, source };
    return { name, value, unit, origin: 'recorded', source: `docs/benchmarks: ${figure.recorded!.cell[0]}` };
  });
}

export const unitFigures = (figures: readonly KnownFigure[]): UnitFigures =>
  Object.fromEntries(figures.map(({ name, value }) => [name, value])) as Record<FigureName, number>;

function recordedValue(medians: Medians, { recorded }: Figure): number | undefined {
  if (recorded === undefined) return undefined;
  const value = cellOf(medians, recorded.cell);
  const less = recorded.less === undefined ? 0 : cellOf(medians, recorded.less);
  return value === undefined || less === undefined || value <= less ? undefined : value - less;
}

function cellOf(medians: Medians, [scenario, start, row, column]: Cell): number | undefined {
  const tables = Object.entries(medians[scenario] ?? {});
  return tables.find(([title]) => title.startsWith(start))?.[1][row]?.[column];
}

/** Measured at these points, and taken to change evenly between them. */
type Curve = readonly (readonly [at: number, value: number])[];

/** Bytes of Redis’s memory by the length of the URL: docs/operations/redis.md. */
export const redisLinkBytes: Curve = [
  [31, 214],
  [95, 277],
  [200, 437],
];

/** Bytes of a click on its way by how many share a frame, all of different links: bench sizes. */
export const frameClickBytes: Curve = [
  [1, 409],
  [3, 214],
  [10, 123],
  [30, 85],
  [100, 62],
  [300, 45],
  [1_000, 32],
  [3_000, 24],
  [8_192, 22],
];

/** Beyond its ends a curve goes on as steeply as it ended, but a click never gets cheaper than the last one measured. */
export function valueAt(curve: Curve, at: number, scale: (value: number) => number = value => value): number {
  const behind = curve.findIndex(([known]) => known >= at);
  const next = behind === -1 ? curve.length - 1 : Math.max(1, behind);
  const [[x0, y0], [x1, y1]] = [curve[next - 1]!, curve[next]!];
  const part = (scale(at) - scale(x0)) / (scale(x1) - scale(x0));
  const value = y0 + (y1 - y0) * part;
  return y1 < y0 ? Math.max(value, curve.at(-1)![1]) : Math.max(value, 0);
}
