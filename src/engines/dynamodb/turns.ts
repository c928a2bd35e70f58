/**
 * One at a time for each name, in the order of asking. Writes of one account, or of one review, would otherwise disturb
 * each other's conditions and be planned again and again; between processes that is rare, within one it need not be.
 *
 * Nobody waits for many deadlines in a row: when the store did not answer one, those who waited behind it are told the
 * same at once.
 */
import { Problem } from '../../base/errors.ts';

const waitingMax = 10_000;

export interface Turns {
  take<Result>(name: string, work: () => Promise<Result>): Promise<Result>;
}

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  let waiting = 0;
  return {
    async take(name, work) {
      if (waiting >= waitingMax) throw new Problem('overloaded', { detail: 'Too many writes are waiting.' });
      waiting += 1;
      const turn = (last.get(name) ?? Promise.resolve()).then(work);
      const end = turn.catch(error => {
        if (isAway(error)) throw error;
      });
      // Who is next hears of it; when nobody is, it has been said to the caller already.
      end.catch(() => {});
      last.set(name, end);
      try {
        return await turn;
      } finally {
        waiting -= 1;
        if (last.get(name) === end) last.delete(name);
      }
    },
  };
}

const isAway = (error: unknown): boolean => error instanceof Problem && error.code === 'store_unavailable';
