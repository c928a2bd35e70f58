/** Tables for the terminal: figures to the right, words to the left, the unit in the head of the column. */
import { formatMeasure, type Measure, median } from './measure.ts';

export type Cell = string | Measure;

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** What a reader must know to read the figures right. */
  readonly notes?: readonly string[];
}

const gap = '  ';

export function renderTable({ title, columns, rows, notes = [] }: Table): string {
  const texts = rows.map(row => row.map(cell => (typeof cell === 'string' ? cell : formatMeasure(cell))));
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...texts.map(row => row[index]?.length ?? 0)),
  );
  const isFigure = columns.map((_, index) => rows.some(row => typeof row[index] === 'object'));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => (isFigure[index] ? cell.padStart(widths[index]!) : cell.padEnd(widths[index]!)))
      .join(gap)
      .trimEnd();
  const rule = widths.map(width => '-'.repeat(width)).join(gap);
  return [title, '', line(columns), rule, ...texts.map(line), ...notes.map(note => `* ${note}`), ''].join(
    '\n',
  );
}

/** The same table for programs: every value of every round beside the median. */
export function tableRecord({ title, columns, rows, notes = [] }: Table) {
  return {
    title,
    notes,
    rows: rows.map(row =>
      Object.fromEntries(
        columns.map((column, index) => {
          const cell = row[index]!;
          return [
            column,
            typeof cell === 'string' ? cell : { median: median(cell.values), values: cell.values },
          ];
        }),
      ),
    ),
  };
}
