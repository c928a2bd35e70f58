/**
 * Ending well and in time. What was begun is finished, but nobody outside gets to decide when the process ends: a
 * client that never stops reading or sending is cut off, and whatever one part makes of its end, the others have theirs.
 */
import { type Clock, sleep } from '../base/clock.ts';

export interface Farewell {
  /** Seconds without a request after which a client is not expected to send one just now. */
  readonly idleGraceTicks: number;
  /** How long a client may take to finish. */
  readonly finishMaxMs: number;
}

/** The server ends. Most orchestrators kill after ten seconds, and clicks are still to be stored. */
export const forGood: Farewell = { idleGraceTicks: 0, finishMaxMs: 5_000 };

/** Others go on serving the port: no client is turned away in the middle, and a long import comes to its end. */
export const forOthers: Farewell = { idleGraceTicks: 2, finishMaxMs: 30_000 };

interface StoppableServer {
  /** Takes no more connections; resolves when those there are have had their answers. */
  drain(idleGraceTicks: number): Promise<void>;
  /** Ends the others. */
  cutOff(): void;
}

/** May be called again by somebody in more of a hurry. */
export async function stopServer(
  server: StoppableServer,
  clock: Clock,
  { idleGraceTicks, finishMaxMs }: Farewell,
): Promise<void> {
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
