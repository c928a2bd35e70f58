/**
 * How often links were followed, for answers that show it beside other things. Nobody waits long for it: null says that
 * the warehouse has not told in time. While it owes an answer to a question that somebody gave up on, nobody asks it.
 */
import type { Clock } from '../base/clock.ts';
import type { ClickReports } from './reports.ts';

/** In the order of the codes. Never rejects. */
export type LinkClicks = (codes: readonly string[], waitMaxMs?: number) => Promise<(number | null)[]>;

const waitMaxMsUsual = 1_000;
/** More codes would make a question longer than ClickHouse reads. */
const codesPerQuestion = 1_000;

export function createLinkClicks(reports: Pick<ClickReports, 'totals'>, clock: Clock): LinkClicks {
  let lateQuestions = 0;

  const ask = async (codes: readonly string[]): Promise<number[]> => {
    const parts: Promise<{ readonly clicks: number }[]>[] = [];
    for (let from = 0; from < codes.length; from += codesPerQuestion)
      parts.push(reports.totals(codes.slice(from, from + codesPerQuestion)));
    return (await Promise.all(parts)).flat().map(({ clicks }) => clicks);
  };

  return (codes, waitMaxMs = waitMaxMsUsual) => {
    const unknown = codes.map(() => null);
    if (codes.length === 0 || lateQuestions > 0) return Promise.resolve(unknown);
    return new Promise(resolve => {
      let isLate = false;
      const cancel = clock.after(waitMaxMs, () => {
        isLate = true;
        lateQuestions += 1;
        resolve(unknown);
      });
      const settle = (clicks: (number | null)[]): void => {
        if (isLate) lateQuestions -= 1;
        cancel();
        resolve(clicks);
      };
      ask(codes).then(settle, () => settle(unknown));
    });
  };
}
