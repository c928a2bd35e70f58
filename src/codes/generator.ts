import { Problem } from '../base/errors.ts';

/** Makes short codes. `generator.conformance.ts` defines the contract; `strategies/` has the implementations. */
export interface CodeGenerator {
  /**
   * The next code to try for this link. `attempt` is 0 first and grows while the code turns out to be taken,
   * which a leased code never is.
   */
  mint(request: MintRequest): Promise<MintedCode>;
  /** A leased code that is available at once, where there are such codes; it is free, whatever the link. */
  readonly mintNow?: () => string | undefined;
  /**
   * Present when the same URL always gives the same code, so that "taken" may mean "exists already": the codes
   * this process has seen in use. A wrong yes costs a read, a wrong no a rejected insert; neither costs a link.
   */
  readonly issued?: IssuedCodes;
  /** Codes available without asking the store; Infinity for strategies that need no pool. */
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
  /** True when the code's id was leased to this process: no other process can have it. */
  readonly leased: boolean;
}

/** Attempts before giving up on strategies that can collide. */
export const mintAttemptsMax = 16;

/**
 * Attempts for which a deterministic strategy gives the same URL the same code. From then on it draws at random:
 * otherwise a URL whose codes all belong to dead links would have none left.
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

/** Rejections in a row that show that the lists of forbidden words are wrong, not that the draws are unlucky. */
const refusalsMax = 1_000;

/** The first code from `draw` that the filter allows; `refusals` counts the ones before it. */
export async function firstAllowed(
  draw: (refusals: number) => string | Promise<string>,
  isAllowed: (code: string) => boolean,
): Promise<string> {
  for (let refusals = 0; refusals < refusalsMax; refusals += 1) {
    const code = await draw(refusals);
    if (isAllowed(code)) return code;
  }
  throw new Problem('codes_exhausted', { detail: 'The lists of forbidden words leave no short code.' });
}
