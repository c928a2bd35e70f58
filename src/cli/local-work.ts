/**
 * What a command can do without a server: work on the stores directly. Only `app` knows engines, so main.ts passes it
 * in; these are the types between the two.
 */

import type { Finding } from '../base/finding.ts';
import type { Config } from '../config/config.ts';

export interface LocalWork {
  /** `tell` receives lines to show during the run. A failure is thrown as a `RequestError` of one line. */
  migrate(request: MigrateRequest, tell: (line: string) => void): Promise<MigrateReport>;
  /** Creates what the engines of the settings lack. A failure is thrown as a `RequestError` of one line. */
  setUp(config: Config): AsyncIterable<SetUpReport>;
  /**
   * Days in the archive of the settings; given a day, restores it and all later ones first.
   * A failure is thrown as a `RequestError` of one line.
   */
  archive(
    config: Config,
    restoreDay: string | undefined,
    tell: (line: string) => void,
  ): Promise<readonly string[]>;
  /**
   * Counts what a cache answered itself, from its log: a path, or the bytes themselves. A failure is thrown as a
   * `RequestError` of one line.
   */
  importClicks(config: Config, log: string | AsyncIterable<Uint8Array>): Promise<ImportReport>;
  /** Backs up what the data folder of the settings keeps. A failure is thrown as a `RequestError` of one line. */
  backUp(config: Config, folder: string, tell: (line: string) => void): Promise<BackupReport>;
  /** Reads a whole backup. A problem with it is thrown as a `RequestError` of one line. */
  checkBackup(folder: string): Promise<BackupReport>;
  /** Restores a backup into the data folder of the settings. A failure is thrown as a `RequestError` of one line. */
  restore(
    config: Config,
    folder: string,
    margin: number | undefined,
    tell: (line: string) => void,
  ): Promise<RestoreReport>;
  /** The marks of the store of the settings, raised by so many ids if a number is given. */
  marks(config: Config, by: number | undefined): Promise<readonly MarkReport[]>;
  /** Examines everything the settings name; a problem is a finding, never thrown. */
  examine(config: Config): Promise<readonly Finding[]>;
}

export interface SetUpReport {
  /** Such as `the DynamoDB table terse at eu-west-1`; names no secret. */
  readonly store: string;
  /** What was missing and was created. */
  readonly done: readonly string[];
  /** What existed before and is correct, where that is worth a line. */
  readonly found?: readonly string[];
  /** What existed before, differs from the settings and was left unchanged, each with how to change that. */
  readonly differences?: readonly string[];
  /** Differences with which Terse would lose data or not work. */
  readonly failures?: readonly string[];
  /** A later step failed; the error follows. */
  readonly isIncomplete?: true;
}

export interface ImportReport {
  readonly imported: number;
  /** Clicks that an earlier import added. */
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
  /** Undefined when this run only completed an interrupted restore. */
  readonly marks: readonly MarkReport[] | undefined;
}

/** The id up to which codes of a length count as issued. */
export interface MarkReport {
  readonly length: number;
  /** Where the mark's share of the ids begins: 0, unless there are regions. */
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
