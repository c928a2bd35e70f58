/**
 * Makes the thread that calls it give way to those that answer visitors: when there is not enough processor for all,
 * counting waits before redirects do. Only Linux has priorities of single threads; elsewhere it would be the process.
 */
import { platform, setPriority } from 'node:os';

const niceness = 5;

export function giveWay(): void {
  if (platform() === 'linux') setPriority(niceness);
}
