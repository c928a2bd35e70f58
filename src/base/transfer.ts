/**
 * One part of an installation (its links, its keys, its audit log, …) as something that can be copied from one engine
 * to another. Every driver offers its parts in this shape, beside its store; `tools/migrate` is the only user.
 *
 * A record is the same on every engine: a JSON value under a key that no other record of the part has. How an engine
 * orders its records is its own business: to compare two engines, look records up by key.
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
  /** For a record to be written: the record it replaces, where that was looked up already. */
  readonly before?: Value;
}

export interface TransferPage<Value = unknown> {
  readonly records: TransferRecord<Value>[];
  /** Where to continue; undefined at the end. */
  readonly next: string | undefined;
}

/** How far a migration has come. Kept in the target, so that any machine can resume a migration, and its progress is lost only with its copy. */
export interface ProgressNotes {
  load(): Promise<string | undefined>;
  /** From now on this runner is the one that copies. */
  take(runner: string, text: string): Promise<void>;
  /** False when another runner has taken over. */
  save(runner: string, text: string): Promise<boolean>;
}

/** A key of several columns. */
export const compositeKey = (...columns: readonly (string | number)[]): string => JSON.stringify(columns);

export const columnsOf = (key: string): (string | number)[] => JSON.parse(key) as (string | number)[];
