/** Makes short codes. `generator.conformance.ts` is the meaning of this file; `strategies/` has the ways. */
export interface CodeGenerator {
  /**
   * The next code to try for this link. `attempt` is 0 first and grows while the code turns out to be taken,
   * which a leased code never is.
   */
  mint(request: MintRequest): Promise<MintedCode>;
  /**
   * Present when the same URL always gives the same code, so that "taken" may mean "exists already": the codes
   * this process has seen in use. A wrong yes costs a read, a wrong no a refused insert; neither costs a link.
   */
  readonly issued?: IssuedCodes;
  /** Codes at hand without asking the store; Infinity for strategies that need no pool. */
  available(): number;
  close(): void;
}

export interface IssuedCodes {
  mayHave(code: string): boolean;
  add(code: string): void;
}

export interface MintRequest {
  readonly longUrl: string;
  readonly ownerId: string | null;
  readonly attempt: number;
}

export interface MintedCode {
  readonly code: string;
  /** True when the code's id was leased to this process: nobody else can have it. */
  readonly leased: boolean;
}

/** Attempts before giving up on strategies that can collide. */
export const mintAttemptsMax = 16;

/**
 * Attempts for which a deterministic strategy gives the same URL the same code. From then on it draws: a URL whose
 * codes all belong to dead links would have none left otherwise.
 */
export const sameCodeAttempts = 4;

/** Leases consecutive ids, from `first` on and below `limit`; the link store is the real one. */
export interface RangeSource {
  leaseRange(
    length: number,
    size: number,
    limit: number,
    first?: number,
  ): Promise<{
    readonly from: number;
    readonly to: number;
    readonly claimed: readonly number[];
  }>;
}
