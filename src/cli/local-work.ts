/**
 * What a command can do without a server: work on the stores themselves. Only `app` knows engines, so main.ts hands it
 * in; these are the words between the two.
 */
import type { Config } from '../app/config.ts';
import type { Finding } from '../base/finding.ts';

export interface LocalWork {
  /** `tell` is given lines to show while it goes on. What stops it is thrown as a `RequestError` of one line. */
  migrate(request: MigrateRequest, tell: (line: string) => void): Promise<MigrateReport>;
  /** Makes what the engines of the settings lack. What stops it is thrown as a `RequestError` of one line. */
  setUp(config: Config): AsyncIterable<SetUpReport>;
  /**
   * Days in the archive of the settings; given one, brings it and all that follow it back first.
   * What stops it is thrown as a `RequestError` of one line.
   */
  archive(
    config: Config,
    restoreDay: string | undefined,
    tell: (line: string) => void,
  ): Promise<readonly string[]>;
  /**
   * Counts what a cache answered by itself, from its log: a path, or the bytes themselves. What stops it is thrown as a
   * `RequestError` of one line.
   */
  importClicks(config: Config, log: string | AsyncIterable<Uint8Array>): Promise<ImportReport>;
  /** Saves what the data folder of the settings keeps. What stops it is thrown as a `RequestError` of one line. */
  backUp(config: Config, folder: string, tell: (line: string) => void): Promise<BackupReport>;
  /** Reads a backup to its end. What is wrong with it is thrown as a `RequestError` of one line. */
  checkBackup(folder: string): Promise<BackupReport>;
  /** Puts a backup into the data folder of the settings. What stops it is thrown as a `RequestError` of one line. */
  restore(
    config: Config,
    folder: string,
    margin: number | undefined,
    tell: (line: string) => void,
  ): Promise<RestoreReport>;
  /** The marks of the store of the settings, raised by so many ids if a number is given. */
  marks(config: Config, by: number | undefined): Promise<readonly MarkReport[]>;
  /** Looks at everything the settings name; what is wrong is a finding, never thrown. */
  examine(config: Config): Promise<readonly Finding[]>;
}

export interface SetUpReport {
  /** Such as `the DynamoDB table terse at eu-west-1`; names no secret. */
  readonly store: string;
  /** What was missing and is there now. */
  readonly done: readonly string[];
}

export interface ImportReport {
  readonly imported: number;
  /** Clicks that an earlier import brought. */
  readonly known: number;
  /** Visits that the server answered itself, and has counted. */
  readonly seen: number;
  readonly other: number;
  readonly unreadable: number;
}

export interface BackupReport {
  /** What was acknowledged before is in it. */
  readonly startedAt: number;
  /** Undefined when links are kept elsewhere. */
  readonly links: number | undefined;
}

export interface RestoreReport extends BackupReport {
  /** Undefined when a restore that was cut off before was only brought to its end. */
  readonly marks: readonly MarkReport[] | undefined;
}

/** Up to which id codes of a length count as given. */
export interface MarkReport {
  readonly length: number;
  /** Where the share of ids begins that it is of: 0, unless there are regions. */
  readonly first: number;
  readonly before: number;
  readonly after: number;
}

export interface MigrateRequest {
  readonly from: string;
  readonly to: string;
  readonly isFinal: boolean;
  readonly isDryRun: boolean;
  readonly recordsPerS: number | undefined;
}

export type MigrateReport =
  | { readonly kind: 'tried' }
  | { readonly kind: 'following'; readonly differences: number }
  | { readonly kind: 'finished'; readonly parts: readonly ComparedPart[] };

/** One part on both sides: how many records, and a checksum over all of them. */
export interface ComparedPart {
  readonly part: string;
  readonly source: { readonly count: number; readonly checksum: string };
  readonly target: { readonly count: number; readonly checksum: string };
  /** False for marks, which the target has higher. */
  readonly isSame: boolean;
}
