/** Logs as an edge cache writes them, of visits that it answered itself. */
import { browser } from './visitors.ts';

export interface EdgeLogOptions {
  readonly code: string;
  readonly count: number;
  /** Tells logs apart, as the ids of requests do. */
  readonly edge?: string;
  /** Of the first visit; the others follow a millisecond apart. */
  readonly at?: number;
}

export function edgeLogOf({ code, count, edge = 'edge', at = Date.now() - count }: EdgeLogOptions): string {
  return Array.from({ length: count }, (_, index) => {
    const time = ((at + index) / 1_000).toFixed(3);
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
