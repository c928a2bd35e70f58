/**
 * How many live views each account has open here. There are only so many places for all, and without a share for
 * each, one account that opens ever more of them would leave nobody else any.
 */
export const viewsPerAccountMax = 250;

export class WatchShares {
  readonly #open = new Map<string, number>();

  /** The function that gives the place back, to be called once; undefined when the account has no place left. */
  take(accountId: string): (() => void) | undefined {
    const open = this.#open.get(accountId) ?? 0;
    if (open >= viewsPerAccountMax) return undefined;
    this.#open.set(accountId, open + 1);
    return () => {
      const left = this.#open.get(accountId)! - 1;
      if (left > 0) this.#open.set(accountId, left);
      else this.#open.delete(accountId);
    };
  }
}
