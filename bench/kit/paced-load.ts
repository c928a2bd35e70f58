/**
 * Load at a constant rate, whatever the server makes of it: visitors come when they come. It measures what they
 * wait for, where load in a closed loop measures how many there can be.
 */
import { runClient, withRequestsFile } from './client-process.ts';
import type { Cores } from './cores.ts';
import type { ClientPlan, ClientReport } from './own-client.ts';

export interface PacedPlan {
  readonly url: string;
  readonly perSecond: number;
  readonly durationS: number;
  /** Raw HTTP/1.1 requests, sent in turn over and over. */
  readonly requests: readonly string[];
  readonly connections: number;
  /** More are opened when all are taken; none by default. */
  readonly connectionsMax?: number;
  readonly warmUpS?: number;
  readonly momentS?: number;
  readonly patienceMs?: number;
  /** False for visitors who each come with a connection of their own. */
  readonly isKeptAlive?: boolean;
}

export type PacedRunner = (plan: PacedPlan, cores: Cores) => Promise<ClientReport>;

/** The client is compiled while it runs, and its first second is not as fast as the others. */
const warmUpS = 1;
const momentS = 1;
const patienceMs = 10_000;

export function pacedRunner(folder: string): PacedRunner {
  return ({ requests, ...plan }, cores) =>
    withRequestsFile(folder, requests, requestsFile => {
      const standard = { warmUpS, momentS, patienceMs, isKeptAlive: true, connectionsMax: plan.connections };
      const clientPlan: ClientPlan = { ...standard, ...plan, requestsFile, isSpinning: !cores.areShared };
      return runClient<ClientReport>('own-client-process.ts', clientPlan, cores.load);
    });
}

/** Visitors who did not get what they came for: refused, broken off, out of patience, or a wrong answer. */
export function failuresOf({ statuses, broken, gaveUp }: ClientReport): number {
  return Object.entries(statuses).reduce(
    (sum, [status, count]) => (Number(status) < 400 ? sum : sum + count),
    broken + gaveUp,
  );
}
