/** Tables for the terminal: figures to the right, words to the left, the unit in the head of the column. */
import { formatMeasure, type Measure, median } from './measure.ts';

export type Cell = string | Measure;

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** Notes that a reader needs to interpret the figures. */
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

export interface TableRecord {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly CellRecord[])[];
  readonly notes: readonly string[];
}

/** Words, or a figure: the values of all rounds, their median, and the shown text. */
export type CellRecord =
  | string
  | { readonly median: number | null; readonly values: readonly number[]; readonly text: string };

/** The same table for programs. */
export function tableRecord({ title, columns, rows, notes = [] }: Table): TableRecord {
  return { title, columns, notes, rows: rows.map(row => row.map(cellRecord)) };
}

function cellRecord(cell: Cell): CellRecord {
  if (typeof cell === 'string') return cell;
  const middle = cell.values.length === 0 ? Number.NaN : median(cell.values);
  return {
    median: Number.isFinite(middle) ? middle : null,
    values: cell.values,
    text: formatMeasure(cell),
  };
}
