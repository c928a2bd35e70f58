/**
 * One part of an installation (its links, its keys, its audit trail, …) as something that can be carried from one
 * engine to another. Every driver offers its parts in this shape, beside its store; `app/migrate` is the only user.
 *
 * A record is the same on every engine: what can be said about it in JSON, under a key that no other record of the
 * part has. How an engine orders its records is its own business: whoever compares two engines looks up keys.
 */
export interface Transfer<Value = unknown> {
  readonly part: string;
  /**
   * The next records in the engine's own order. A walk with its cursors sees every record that is there all the while,
   * and may or may not see what comes or goes meanwhile. A page may have fewer than asked for, or none, and more by what
   * the engine reads at once.
   */
  page(cursor: string | undefined, limit: number): Promise<TransferPage<Value>>;
  /** Those of the wanted records that are there, in any order. */
  read(keys: readonly string[]): Promise<TransferRecord<Value>[]>;
  /**
   * Makes the records what is given, whether they were there or not; doing it twice is like doing it once. A record
   * that needs another part's record which is not there yet may be left out: a later round brings it.
   */
  write(records: readonly TransferRecord<Value>[]): Promise<void>;
  /** Absent for a part of which nothing is ever removed. */
  readonly remove?: (keys: readonly string[]) => Promise<void>;
}

export interface TransferRecord<Value = unknown> {
  readonly key: string;
  readonly value: Value;
  /** Of a record to be written: what it replaces, where that is known and was looked up already. */
  readonly before?: Value;
}

export interface TransferPage<Value = unknown> {
  readonly records: TransferRecord<Value>[];
  /** Where to go on; undefined at the end. */
  readonly next: string | undefined;
}

/** A key of several columns. */
export const compositeKey = (...columns: readonly (string | number)[]): string => JSON.stringify(columns);

export const columnsOf = (key: string): (string | number)[] => JSON.parse(key) as (string | number)[];
