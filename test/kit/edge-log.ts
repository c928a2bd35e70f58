/** Logs as an edge cache writes them, of visits that it answered itself. */
import { browser } from './visitors.ts';

export interface EdgeLogOptions {
  readonly code: string;
  readonly count: number;
  /** Distinguishes logs, as the ids of requests do. */
  readonly edge?: string;
  /** The time of the first visit; the others follow a millisecond apart. */
  readonly at?: number;
}

export function edgeLogOf({ code, count, edge, at = Date.now() - count }: EdgeLogOptions): string {
  return edgeLogAt(
    code,
    Array.from({ length: count }, (_, index) => at + index),
    edge,
  );
}

/** A log with a visit at each of the times. */
export function edgeLogAt(code: string, times: readonly number[], edge = 'edge'): string {
  return Array.from(times, (at, index) => {
    const time = (at / 1_000).toFixed(3);
    const address = `198.51.100.${index % 250}`;
    const fields = [
      time,
      `${edge}-${index}`,
      302,
      'HIT',
      'GET',
      `/${code}`,
      address,
      browser['User-Agent'],
      '-',
    ];
    return `${fields.join('\t')}\n`;
  }).join('');
}
