/**
 * Costs per unit: the table behind `npm run capacity`. A figure is measured here, documented by the engine's vendor, or
 * assumed until it is measured. `--set` overrides any of them.
 */

type Origin = 'measured' | 'documented' | 'assumed';

interface Figure {
  readonly value: number;
  readonly unit: string;
  readonly origin: Origin;
  readonly source: string;
}

const enginesBench = 'bench engines, Postgres and Redis';
const clickhouseBench = 'ClickHouse, merged: links with two clicks a day';

const measured = (value: number, unit: string, source: string): Figure => ({
  value,
  unit,
  origin: 'measured',
  source,
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
  redirectUs: measured(8.41, 'µs of CPU', 'bench warm: one link, its click recorded'),
  sharedCacheUs: measured(34.921, 'µs of CPU more', enginesBench),
  storeReadUs: measured(113.171, 'µs of CPU more', enginesBench),
  createUs: measured(144.93, 'µs of CPU', enginesBench),
  frameUs: measured(5, 'µs of CPU per click', 'frames of 100 clicks, all of different links'),
  countUs: measured(
    3.9538,
    'µs of CPU of Terse per click',
    'bench pipeline, reading frames and sending blocks',
  ),
  redisGetUs: measured(3.0069, 'µs of CPU', enginesBench),
  redisFillUs: assumed(10, 'µs of CPU', 'a script with a read and a write, beside 3.5 for a read'),
  postgresReadUs: measured(43.259, 'µs of CPU', enginesBench),
  postgresCreateUs: measured(60.555, 'µs of CPU', enginesBench),
  postgresReadPages: assumed(2, 'pages', 'a leaf of the index and a row, neither in memory'),
  postgresCreatePages: assumed(
    6,
    'pages',
    'leaves of two indexes in random order read and written, a row, the log',
  ),
  clickhouseUs: measured(
    18.852,
    'µs of CPU per click',
    'bench pipeline: Zipf over a million links, merging included',
  ),

  workerMb: measured(267.86, 'MB', 'bench warm: resident, one link, clicks recorded'),
  connectionBytes: measured(4_096, 'bytes', '10,000 idle ones'),
  l1EntryBytes: measured(154, 'bytes, and the URL', 'a link in memory'),
  heapShare: measured(1.5, 'times', 'resident memory beside that of the heap'),
  postgresLinkBytes: measured(280, 'bytes, and the URL', 'rows and indexes'),
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
  changeWcu: documented(15, 'WCU', 'docs/operations/dynamodb.md: an edit of the URL; a deletion takes 18'),
  pollRcu: documented(6, 'RCU', 'docs/operations/dynamodb.md: a poll of the feed that finds changes'),
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
  readonly origin: Origin | 'given';
  readonly source: string;
}

export function knownFigures(given: ReadonlyMap<string, number>): KnownFigure[] {
  return figureNames.map(name => {
    const { unit, value, origin, source } = figureTable[name];
    const own = given.get(name);
    return own === undefined
      ? { name, value, unit, origin, source }
      : { name, value: own, unit, origin: 'given', source: '--set' };
  });
}

export const unitFigures = (figures: readonly KnownFigure[]): UnitFigures =>
  Object.fromEntries(figures.map(({ name, value }) => [name, value])) as Record<FigureName, number>;

/** Measured at these points, and interpolated between them. */
type Curve = readonly (readonly [at: number, value: number])[];

/** Bytes of Redis’s memory by the length of the URL: docs/operations/redis.md. */
export const redisLinkBytes: Curve = [
  [31, 214],
  [95, 277],
  [200, 437],
];

/** Bytes per click in a frame by the number of clicks in it, all of different links: bench sizes. */
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

/** Beyond its ends a curve continues with its last slope, but a click never gets cheaper than the last one measured. */
export function valueAt(curve: Curve, at: number, scale: (value: number) => number = value => value): number {
  const behind = curve.findIndex(([known]) => known >= at);
  const next = behind === -1 ? curve.length - 1 : Math.max(1, behind);
  const [[x0, y0], [x1, y1]] = [curve[next - 1]!, curve[next]!];
  const part = (scale(at) - scale(x0)) / (scale(x1) - scale(x0));
  const value = y0 + (y1 - y0) * part;
  return y1 < y0 ? Math.max(value, curve.at(-1)![1]) : Math.max(value, 0);
}
