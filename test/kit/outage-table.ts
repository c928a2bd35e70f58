/**
 * What stays available with which engines down: the table of docs/operations/outages.md. It is measured by
 * test/faults/outages.test.ts, which writes outage-table.json with TERSE_TEST_RECORD=1 and otherwise compares with it.
 */
import { join } from 'node:path';
import measured from './outage-table.json' with { type: 'json' };
import { engines } from './start-table.ts';

/** In the order of the columns. */
export const operations = {
  hot: 'hot redirect',
  redisOnly: 'redirect known to Redis only',
  cold: 'cold redirect',
  create: 'create',
  queuedCreate: 'create, queued',
  edit: 'edit, kill',
  statistics: 'statistics',
  signIn: 'sign-in',
} as const;
export type Operation = keyof typeof operations;

/** The observed statuses, separated by slashes if answers differed. */
export type OutageCells = Readonly<Partial<Record<Operation, string>>>;

export interface OutageRow extends OutageCells {
  /** Names of engines with commas between them; empty for none. */
  readonly down: string;
}

/** One at a time, the pairs that share work, and all of them. */
export const combinations = [
  [],
  ['Postgres'],
  ['Redis'],
  ['Kafka'],
  ['ClickHouse'],
  ['Postgres', 'Redis'],
  ['Postgres', 'Kafka'],
  ['Redis', 'Kafka'],
  ['Kafka', 'ClickHouse'],
  engines,
] as const;

const rows: readonly OutageRow[] = measured;

export function recordedCells(down: readonly string[]): OutageCells | undefined {
  return rows.find(row => row.down === down.join(', '));
}

export async function recordRows(some: readonly OutageRow[]): Promise<void> {
  await Bun.write(join(import.meta.dir, 'outage-table.json'), `${JSON.stringify(some, undefined, 2)}\n`);
}

export function outageTable(): string {
  const names = Object.keys(operations) as Operation[];
  const shown = rows.map(row => {
    const cells = names.map(name => (row[name] ?? '–').replaceAll('/', ' or '));
    return `| ${row.down || 'nothing'} | ${cells.join(' | ')} |`;
  });
  return [
    `| Down | ${Object.values(operations).join(' | ')} |`,
    `|---|${names.map(() => '---|').join('')}`,
    ...shown,
  ].join('\n');
}
