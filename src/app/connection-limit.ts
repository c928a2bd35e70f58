/**
 * How many clients may be connected: what the operator allows, or less where the system gives this process fewer
 * file descriptors. A process without a free one cannot open its own files either, so some are kept back.
 */

/** For databases, logs, threads and clients that are being turned away. */
const keptBack = 700;
const connectionsMin = 16;

/** `limits` is the text of /proc/self/limits; undefined where there is none. */
export function connectionLimit(wanted: number, limits: string | undefined): number {
  const allowed = /^Max open files +(\d+|unlimited)/m.exec(limits ?? '')?.[1];
  if (allowed === undefined || allowed === 'unlimited') return wanted;
  const files = Number(allowed);
  // Where there is little, half of it is kept back.
  return Math.max(connectionsMin, Math.min(wanted, files - Math.min(keptBack, Math.floor(files / 2))));
}
