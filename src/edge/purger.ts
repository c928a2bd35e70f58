/**
 * An edge cache that can be told to forget. It keeps a redirect under the code of its link, whatever query a visitor
 * adds, so codes are all that a purge names.
 *
 * Invariants every driver keeps:
 * - A purge that resolves was taken by the edge; doing it twice is harmless.
 * - Every call ends within a bounded time. What fails is a `PurgeFailed`, whose message holds no secret.
 */
export interface Purger {
  /** What it is called in logs and metrics. */
  readonly name: string;
  /** Codes in one call at most. */
  readonly codesMax: number;
  purge(codes: readonly string[]): Promise<void>;
  /** Absent where the edge cannot be told to forget everything at once. */
  readonly purgeAll?: () => Promise<void>;
}

/** The edge was not reached, or said no. Either may pass: a token is renewed, a limit ends. */
export class PurgeFailed extends Error {
  override readonly name = 'PurgeFailed';
}
