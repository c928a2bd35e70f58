/**
 * Where results of checks are kept, and whose turn it is to check. Not in the link store, on purpose: results come with
 * every check, are worth nothing to a redirect, and are found again by checking again. There they would cost writes of
 * the dearest kind and a table in every engine; here a file or a Redis that may forget them does.
 * `store.conformance.ts` is the meaning of this file.
 */
import type { HealthRecord } from './health.ts';

export interface HealthStore {
  /** One for each code, in their order; undefined where nothing is known. */
  find(codes: readonly string[]): Promise<(HealthRecord | undefined)[]>;
  /** Each replaces what was known of its link, and is forgotten after `keepMs` unless it is replaced. */
  save(records: readonly HealthRecord[], now: number, keepMs: number): Promise<void>;
  /**
   * Takes the turn for a runner, or keeps it, until it is noted again or `turnMs` have passed. Gives where the walk
   * stands; undefined while another runner has the turn.
   */
  takeTurn(runner: string, now: number, turnMs: number): Promise<WalkPosition | undefined>;
  /** Notes how far the walk has come. False, and nothing is noted, when the turn is another runner's by now. */
  noteTurn(runner: string, position: WalkPosition): Promise<boolean>;
  close(): Promise<void>;
}

/** A walk goes over all links in rounds. */
export interface WalkPosition {
  /** When the round began; 0 before the first. */
  readonly roundAt: number;
  /** Where the next page begins; null when the round is over. */
  readonly cursor: string | null;
}

export const walkStart: WalkPosition = { roundAt: 0, cursor: null };
