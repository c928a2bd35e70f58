/**
 * A moment in which nobody counts, for a warehouse that cannot change its counts and its positions in one transaction.
 * Asking for the moment is a courtesy: what makes it certain is that nobody has planned anything between two looks, since
 * nothing is counted that was not planned (ADR 13).
 */
export interface CountingPause {
  /**
   * Asks everybody to wait, takes a `look` once all that was planned is counted, and if nobody has planned anything
   * meanwhile, acts on it. False when somebody did: what the look found may be torn, and nothing was acted on.
   */
  during(look: () => Promise<void>, act: () => Promise<void>): Promise<boolean>;
}

/** For counts that nobody else can touch. */
export const alone: CountingPause = {
  async during(look, act) {
    await look();
    await act();
    return true;
  },
};
