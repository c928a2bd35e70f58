/**
 * How many live views each account has open here. There are only so many places for all. An account may have a third as
 * many as are free: alone it gets a quarter of all, and a few accounts that open ever more never leave nobody else any.
 */
import { watchersMax } from '../clicks/watch-list.ts';

const shareOfFree = 1 / 3;
export const viewsPerAccountMax = (watchersMax * shareOfFree) / (1 + shareOfFree);

export class WatchShares {
  readonly #open = new Map<string, number>();
  #total = 0;

  /** The function that gives the place back, to be called once; undefined when the account has no place left. */
  take(accountId: string): (() => void) | undefined {
    const open = this.#open.get(accountId) ?? 0;
    if (open >= (watchersMax - this.#total) * shareOfFree) return undefined;
    this.#open.set(accountId, open + 1);
    this.#total += 1;
    return () => {
      this.#total -= 1;
      const left = this.#open.get(accountId)! - 1;
      if (left > 0) this.#open.set(accountId, left);
      else this.#open.delete(accountId);
    };
  }
}
