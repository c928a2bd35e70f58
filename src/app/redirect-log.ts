/**
 * One redirect of so many, in the log. A line for each would cost more than the redirect; a few of them show that the
 * rest is as it should be, and where time goes. No address of a visitor is in them.
 */
import type { WireRequest } from '../http/wire/wire-request.ts';
import type { Log } from '../ops/log.ts';

export type LogRedirect = (
  request: Pick<WireRequest, 'method' | 'path'>,
  status: number,
  tookMs: number,
) => void;

const pathShownMax = 200;

/** `oneIn` 0 logs none. */
export function createRedirectLog(log: Pick<Log, 'info'>, oneIn: number): LogRedirect {
  let left = oneIn;
  return ({ method, path }, status, tookMs) => {
    left -= 1;
    if (left !== 0) return;
    left = oneIn;
    log.info('redirect', {
      method,
      path: path.slice(0, pathShownMax),
      status,
      tookMs: rounded(tookMs),
      oneIn,
    });
  };
}

/** To a hundredth of a millisecond. */
export const rounded = (milliseconds: number): number => Math.round(milliseconds * 100) / 100;
