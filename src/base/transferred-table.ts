/**
 * A table of an SQL database whose rows a migration copies as they are, one record each. The shape is data that the
 * engines read, each in its dialect, so that tables which are the same everywhere are described once.
 */
import { columnsOf, compositeKey, type Transfer } from './transfer.ts';

export type ColumnValue = string | number | Uint8Array | null;
export type TableRow = Record<string, ColumnValue>;

export interface TransferredTable<Value, Row extends object> {
  readonly part: string;
  readonly table: string;
  /** The columns of the primary key. One column is the record's key itself, several are a composite one. */
  readonly key: readonly string[];
  /** Every column that is written, including the key. */
  readonly columns: readonly string[];
  /** Numeric columns that are only ever increased. */
  readonly raised?: readonly string[];
  readonly rowOf: (value: Value) => TableRow;
  readonly valueOf: (row: Row) => Value;
}

/** The statements of an engine on one table; keys are the values of the key's columns. */
export interface TableAccess<Row> {
  /** The rows after a key, in the order of keys. */
  page(after: readonly ColumnValue[] | undefined, limit: number): Promise<Row[]>;
  find(keys: readonly ColumnValue[][]): Promise<Row[]>;
  upsert(rows: readonly TableRow[]): Promise<void>;
  remove(keys: readonly ColumnValue[][]): Promise<void>;
}

export function transferOf<Value, Row extends object>(
  shape: TransferredTable<Value, Row>,
  access: TableAccess<Row & TableRow>,
): Transfer<Value> {
  const { part, key } = shape;
  const placeOf = (row: TableRow) => key.map(column => row[column] as string | number);
  const keysOf = (keys: readonly string[]): ColumnValue[][] =>
    keys.map(each => (key.length === 1 ? [each] : columnsOf(each)));
  const recordOf = (row: Row & TableRow) => {
    const place = placeOf(row);
    return { key: place.length === 1 ? String(place[0]) : compositeKey(...place), value: shape.valueOf(row) };
  };
  return {
    part,
    async page(cursor, limit) {
      const rows = await access.page(cursor === undefined ? undefined : columnsOf(cursor), limit);
      const last = rows.at(-1);
      const isEnd = last === undefined || rows.length < limit;
      return { records: rows.map(recordOf), next: isEnd ? undefined : compositeKey(...placeOf(last)) };
    },
    read: async keys => (await access.find(keysOf(keys))).map(recordOf),
    write: records => access.upsert(records.map(({ value }) => shape.rowOf(value))),
    remove: keys => access.remove(keysOf(keys)),
  };
}

/** What both dialects have in common; `greatest` is their function for the larger of two numbers. */
export function upsertOf(
  { table, key, columns, raised = [] }: Omit<TransferredTable<never, never>, 'rowOf' | 'valueOf'>,
  selected: string,
  greatest: string,
): string {
  const assigned = columns
    .filter(column => !key.includes(column))
    .map(column => {
      const given = `excluded.${column}`;
      return `${column} = ${raised.includes(column) ? `${greatest}(${table}.${column}, ${given})` : given}`;
    });
  const change = assigned.length === 0 ? 'NOTHING' : `UPDATE SET ${assigned.join(', ')}`;
  return `INSERT INTO ${table} (${columns.join(', ')}) ${selected} ON CONFLICT (${key.join(', ')}) DO ${change}`;
}
