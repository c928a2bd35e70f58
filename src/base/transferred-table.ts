/**
 * A table of an SQL database whose rows a migration carries as they are, one record each. The shape is data that the
 * engines read, each in its dialect, so that tables which are alike everywhere are described once.
 */
export type ColumnValue = string | number | Uint8Array | null;
export type TableRow = Record<string, ColumnValue>;

export interface TransferredTable<Value, Row extends object> {
  readonly part: string;
  readonly table: string;
  /** The columns of the primary key. One column is the record's key itself, several are a composite one. */
  readonly key: readonly string[];
  /** The column of numbers that pages are ordered by, where that is not the key. */
  readonly order?: string;
  /** Every column that is written, the key's too. */
  readonly columns: readonly string[];
  /** Columns of numbers that are written only to become larger. */
  readonly raised?: readonly string[];
  readonly rowOf: (value: Value) => TableRow;
  readonly valueOf: (row: Row) => Value;
  /**
   * What is unique besides the key. Where a row comes from it is unique too, so another row that holds the same value
   * is out of date: it gives up these columns, or is removed, and a later round brings what became of it.
   */
  readonly unique?: readonly { readonly column: string; readonly givesUp: readonly string[] | 'row' }[];
  /** The row of another table, by its column `id`, without which a row is left out. */
  readonly needs?: { readonly table: string; readonly column: string };
  /** A statement that follows every change of the table. */
  readonly afterwards?: string;
}
