/**
 * Assumptions about the traffic and choices of machines: each is a row and a flag on the command line, with the scale
 * that Terse is designed for as the default. Costs per unit are in unit-figures.ts.
 */
interface Row {
  readonly default: number;
  readonly min: number;
  readonly max: number;
  readonly doc: string;
}

const row = (value: number, [min, max]: readonly [number, number], doc: string): Row => ({
  default: value,
  min,
  max,
  doc,
});
const count = [1, 1e15] as const;
const countOrNone = [0, 1e15] as const;
const share = [0.01, 1] as const;

export const assumptionRows = {
  linksPerDay: row(100e6, countOrNone, 'links made in a day'),
  redirectsPerDay: row(10e9, count, 'links followed in a day'),
  changesPerDay: row(1e6, countOrNone, 'links edited, disabled or deleted in a day'),
  peakFactor: row(5, [1, 1_000], 'the busiest second of the week, in times of an average one'),
  dayPeak: row(1.6, [1, 2], 'the busiest hour of a day, in times of its average'),
  weekendShare: row(0.8, [0.01, 1], 'Saturdays and Sundays, as a share of other days'),
  workingSet: row(500e6, count, 'different links that are followed within a day'),
  zipf: row(0.9, [0, 3], 'how unevenly: the link of rank k is followed in proportion to 1 / k^this'),
  urlBytes: row(95, [10, 2_048], 'length of a long URL'),
  linksKept: row(10e9, count, 'links in the store, to begin with'),
  replication: row(3, [1, 9], 'copies of everything in the stream'),
  edgeTtlS: row(0, [0, 31_536_000], 'TERSE_EDGE_TTL_S; 0 without a CDN'),
  edgePlaces: row(100, [1, 1e6], 'caches that the CDN consists of'),
  l1Entries: row(1e6, [1, 50e6], 'TERSE_L1_ENTRIES'),
  connections: row(10_000, [16, 1e6], 'TERSE_CONNECTIONS'),
  cacheTtlS: row(86_400, [1, 31_536_000], 'TERSE_CACHE_TTL_S'),
  cacheGb: row(0, [0, 1e6], 'memory of the shared cache in all; 0 for as much as it can use'),
  pool: row(8, [1, 1_000], 'connections of a process to Postgres'),
  partitions: row(12, [1, 500], 'partitions of the stream'),
  streamHours: row(72, [1, 100_000], 'hours that the stream keeps clicks'),
  clickDays: row(30, [1, 3_650], 'TERSE_CLICK_DAYS'),
  minuteDays: row(14, [1, 3_650], 'TERSE_MINUTE_DAYS'),
  countDays: row(365, [1, 36_500], 'days of counts to find room for'),
  drainPerS: row(
    2_000,
    [1, 1e9],
    'links a second that all workers bring from the queue to the store (--writes=queued)',
  ),
  queueMax: row(1e6, [1, 1e9], 'TERSE_QUEUE_MAX'),
  machineCores: row(16, [1, 1_024], 'cores of a machine for Terse, each with a worker'),
  machineGb: row(64, [1, 1e6], 'memory of such a machine'),
  machineGbit: row(10, [0.1, 10_000], 'network of any machine, in Gbit/s'),
  redisGb: row(26, [1, 1e6], 'memory of a Redis server for its data'),
  brokerTb: row(8, [0.1, 1_000], 'disk of a Kafka broker'),
  brokerMbPerS: row(100, [1, 1e5], 'what a Kafka broker writes in a second'),
  storeCores: row(64, [1, 1_024], 'cores of a server of Postgres or ClickHouse'),
  storeTb: row(60, [0.1, 10_000], 'disk of such a server'),
  storeIops: row(200_000, [100, 1e8], 'pages that its disk reads or writes in a second'),
  busyMax: row(0.6, share, 'how busy a part may be in the busiest second'),
  fullMax: row(0.8, share, 'how full memory and disks may be'),
} as const satisfies Readonly<Record<string, Row>>;

const choices = {
  store: ['dynamodb', 'postgres'],
  writes: ['direct', 'queued'],
} as const;

export type AssumptionName = keyof typeof assumptionRows;
type ChoiceName = keyof typeof choices;
export type Assumptions = Readonly<Record<AssumptionName, number>> & {
  readonly [Name in ChoiceName]: (typeof choices)[Name][number];
};

export const assumptionNames = Object.keys(assumptionRows) as readonly AssumptionName[];
const choiceNames = Object.keys(choices) as readonly ChoiceName[];

export const defaultAssumptions: Assumptions = {
  ...(Object.fromEntries(assumptionNames.map(name => [name, assumptionRows[name].default])) as Record<
    AssumptionName,
    number
  >),
  store: choices.store[0],
  writes: choices.writes[0],
};

export interface CapacityOptions {
  readonly assumptions: Assumptions;
  /** Figures that override the table. */
  readonly given: ReadonlyMap<string, number>;
  readonly isJson: boolean;
  readonly showsFigures: boolean;
}

export function parseCapacityOptions(
  words: readonly string[],
  figureNames: readonly string[],
): CapacityOptions {
  const changed: Record<string, number | string> = {};
  const given = new Map<string, number>();
  for (const word of words) {
    if (word === '--json' || word === '--figures') continue;
    const [, flag = '', value = ''] = /^--([a-z0-9-]+)=(.*)$/.exec(word) ?? [];
    const name = assumptionNames.find(each => flagOf(each) === flag);
    const choice = choiceNames.find(each => each === flag);
    const [, figure = '', amount = ''] = /^([A-Za-z0-9]+)=(.+)$/.exec(flag === 'set' ? value : '') ?? [];
    if (name !== undefined) changed[name] = readAmount(`--${flag}`, value, assumptionRows[name]);
    else if (choice !== undefined) changed[choice] = readChoice(choice, value);
    else if (figureNames.includes(figure))
      given.set(figure, readAmount(`--set=${figure}`, amount, { min: 0, max: 1e15 }));
    else throw new Error(`"${word}" is not known\n${capacityUsage}`);
  }
  return {
    assumptions: { ...defaultAssumptions, ...changed },
    given,
    isJson: words.includes('--json'),
    showsFigures: words.includes('--figures'),
  };
}

export const flagOf = (name: string): string => name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`);

const flagWidth = 24;
export const capacityUsage = [
  'npm run capacity -- [--FLAG=VALUE …] [--set=FIGURE=VALUE …] [--figures] [--json]',
  ...assumptionNames.map(name => {
    const { default: value, doc } = assumptionRows[name];
    return `  --${flagOf(name).padEnd(flagWidth)} ${doc} (${value.toLocaleString('en-US')})`;
  }),
  ...choiceNames.map(name => `  --${name.padEnd(flagWidth)} ${choices[name].join(' or ')}`),
  `  --${'figures'.padEnd(flagWidth)} lists what things cost per unit and where that is known from`,
].join('\n');

const multiples: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, b: 1e9 };

function readAmount(flag: string, text: string, { min, max }: Pick<Row, 'min' | 'max'>): number {
  const [, digits, multiple = ''] = /^(\d{1,15}(?:\.\d{1,6})?)([kmb]?)$/i.exec(text) ?? [];
  const value = Number(digits) * multiples[multiple.toLowerCase()]!;
  if (!(value >= min && value <= max)) {
    throw new Error(
      `${flag} takes a number from ${min} to ${max}, such as 5, 0.9, 20k, 10m or 2b, not "${text}"`,
    );
  }
  return value;
}

function readChoice(name: ChoiceName, text: string): string {
  const known = choices[name].find(each => each === text);
  if (known === undefined) throw new Error(`--${name} is ${choices[name].join(' or ')}, not "${text}"`);
  return known;
}
