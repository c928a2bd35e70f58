/** The processes that a supervisor keeps running: its children. */
import { childrenOf } from './process-family.ts';

const pollMs = 20;

/** Waits until the children are as they should be; false when they are not in time. */
export async function untilChildren(
  supervisor: number,
  isAsExpected: (children: readonly number[]) => boolean,
  maxMs: number,
): Promise<boolean> {
  for (const untilMs = performance.now() + maxMs; performance.now() < untilMs; ) {
    if (isAsExpected(childrenOf(supervisor))) return true;
    await Bun.sleep(pollMs);
  }
  return false;
}
