/**
 * The medians of every recorded run, one line of JSON each, oldest first: what a change did to the figures can be
 * looked up long after. Lines are only ever added.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { TableRecord } from './table.ts';

/** Under what a run was made; figures of different machines do not compare. */
export interface Circumstances {
  readonly at: string;
  readonly version: string;
  readonly machine: string;
  readonly runtime: string;
  readonly client: string;
  /** What was smaller than it should be. */
  readonly scaledDown: readonly string[];
}

/** By scenario, table, row and column. */
export type Medians = Readonly<Record<string, Readonly<Record<string, TableMedians>>>>;
type TableMedians = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface HistoryEntry extends Circumstances {
  readonly medians: Medians;
}

const significantDigits = 5;

export function mediansOf(results: Readonly<Record<string, readonly TableRecord[]>>): Medians {
  return mapValues(results, tables =>
    Object.fromEntries(tables.map(table => [table.title, tableMedians(table)])),
  );
}

function tableMedians({ columns, rows }: TableRecord): TableMedians {
  return Object.fromEntries(
    rows.map(row => {
      const label = row.filter(cell => typeof cell === 'string').join(', ');
      const figures = row.flatMap((cell, index) =>
        typeof cell === 'string' || cell.median === null
          ? []
          : [[columns[index]!, Number(cell.median.toPrecision(significantDigits))] as const],
      );
      return [label, Object.fromEntries(figures)];
    }),
  );
}

export function readHistory(path: string): HistoryEntry[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as HistoryEntry);
}

export function appendHistory(path: string, entry: HistoryEntry): void {
  appendFileSync(path, `${JSON.stringify(entry)}\n`);
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, change: (value: From) => To) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}
