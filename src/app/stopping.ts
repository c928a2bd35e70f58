/**
 * Ending well and in time. What was begun is finished, but nobody outside gets to decide when the process ends: a
 * client that never stops reading or sending is cut off, and whatever one part makes of its end, the others have theirs.
 */
import { type Clock, sleep } from '../base/clock.ts';

/** Most orchestrators kill after ten seconds, and clicks are still to be stored. */
export const finishMaxMs = 5_000;

interface StoppableServer {
  /** Takes no more connections; resolves when those there are have had their answers. */
  drain(idleGraceTicks: number): Promise<void>;
  /** Ends the others. */
  cutOff(): void;
}

export async function stopServer(server: StoppableServer, clock: Clock, idleGraceTicks = 0): Promise<void> {
  const finished = server.drain(idleGraceTicks).then(() => true);
  const isFinished = await Promise.race([finished, sleep(clock, finishMaxMs).then(() => false)]);
  if (!isFinished) server.cutOff();
}

/** Takes every step in order, also after one that fails; then throws what failed first. */
export async function takeAll(steps: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
