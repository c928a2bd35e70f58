/**
 * What a command can do without a server: work on the stores themselves. Only `app` knows engines, so main.ts hands it
 * in; these are the words between the two.
 */
import type { Config } from '../app/config.ts';
import type { Finding } from '../base/finding.ts';

export interface LocalWork {
  /** `tell` is given lines to show while it goes on. What stops it is thrown as a `RequestError` of one line. */
  migrate(request: MigrateRequest, tell: (line: string) => void): Promise<MigrateReport>;
  /** Makes what the store of the settings lacks. What stops it is thrown as a `RequestError` of one line. */
  setUp(config: Config): Promise<SetUpReport>;
  /**
   * Days in the archive of the settings; given one, puts it and all that follow it back into the click log first.
   * What stops it is thrown as a `RequestError` of one line.
   */
  archive(
    config: Config,
    restoreDay: string | undefined,
    tell: (line: string) => void,
  ): Promise<readonly string[]>;
  /** Looks at everything the settings name; what is wrong is a finding, never thrown. */
  examine(config: Config): Promise<readonly Finding[]>;
}

export interface SetUpReport {
  /** Such as `the DynamoDB table terse at eu-west-1`; names no secret. */
  readonly store: string;
  /** What was missing and is there now. */
  readonly done: readonly string[];
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
