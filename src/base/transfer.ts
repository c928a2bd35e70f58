/**
 * Copies one part of an installation (its links, its keys, its audit log, …) from one engine to another. Every driver
 * implements this beside its store; `tools/migrate` is the only user.
 *
 * A record is the same on every engine: a JSON value under a key that no other record of the part has. Engines may
 * order their records differently: to compare two engines, look records up by key.
 */
export interface Transfer<Value = unknown> {
  readonly part: string;
  /**
   * The next records in the engine's own order. A walk with its cursors sees every record that exists throughout, and
   * may or may not see records that are added or removed meanwhile. A page may have fewer records than requested, or
   * none, or more when the engine reads more at once.
   */
  page(cursor: string | undefined, limit: number): Promise<TransferPage<Value>>;
  /** Those of the requested records that exist, in any order. */
  read(keys: readonly string[]): Promise<TransferRecord<Value>[]>;
  /**
   * Upserts the given records; idempotent. A record that needs a record of another part which does not exist yet may be
   * skipped: a later round brings it.
   */
  write(records: readonly TransferRecord<Value>[]): Promise<void>;
  /** Absent for a part whose records are never removed. */
  readonly remove?: (keys: readonly string[]) => Promise<void>;
  /** Whether a record may be removed, where that is not true of all. */
  readonly isRemovable?: (key: string) => boolean;
}

export interface TransferRecord<Value = unknown> {
  readonly key: string;
  readonly value: Value;
  /** For a record to be written: the record it replaces, if that was looked up already. */
  readonly before?: Value;
}

export interface TransferPage<Value = unknown> {
  readonly records: TransferRecord<Value>[];
  /** Where to continue; undefined at the end. */
  readonly next: string | undefined;
}

/**
 * How far a migration has come. Kept in the target, so that any machine can resume it and the copy and its progress
 * belong together.
 */
export interface ProgressNotes {
  load(): Promise<string | undefined>;
  /** Makes this runner the one that copies. */
  take(runner: string, text: string): Promise<void>;
  /** False when another runner has taken over. */
  save(runner: string, text: string): Promise<boolean>;
}

/** A key of several columns. */
export const compositeKey = (...columns: readonly (string | number)[]): string => JSON.stringify(columns);

export const columnsOf = (key: string): (string | number)[] => JSON.parse(key) as (string | number)[];

export type ColumnValue = string | number | Uint8Array | null;
export type TableRow = Record<string, ColumnValue>;

/**
 * A table of an SQL database whose rows a migration copies as they are, one record each. The shape is data that the
 * engines read, each in its dialect, so that tables which are the same everywhere are described once.
 */
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
