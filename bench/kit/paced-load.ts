/**
 * Load at a constant rate, whatever the server makes of it: visitors come when they come. It measures what they
 * wait for, where load in a closed loop measures how many there can be.
 */
import type { ClientPlan, ClientReport, OnMoment } from './client-plan.ts';
import { runClient, withRequestsFile } from './client-process.ts';
import type { Cores } from './cores.ts';

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
  /** How long a visitor waits for an answer, and how long for a connection; as long as for an answer by default. */
  readonly timeoutMs?: number;
  readonly unsentMaxMs?: number;
  /** False for visitors who each come with a connection of their own. */
  readonly isKeptAlive?: boolean;
  /** Whether the client keeps time by busy-waiting; by default where it has a core to itself. */
  readonly isSpinning?: boolean;
  /** Called during the load. */
  readonly onMoment?: OnMoment;
  /** Ends the load before its time, and with it the promise of a report. */
  readonly signal?: AbortSignal;
}

export type PacedRunner = (plan: PacedPlan, cores: Cores) => Promise<ClientReport>;

/** Server and client are compiled while they run, and their first second is not as fast as the others. */
const warmUpS = 1;
const momentS = 1;
const timeoutMs = 10_000;

export function pacedRunner(folder: string): PacedRunner {
  return ({ requests, onMoment, signal, ...plan }, cores) =>
    withRequestsFile(folder, requests, requestsFile => {
      const clientPlan: ClientPlan = {
        warmUpS,
        momentS,
        timeoutMs,
        isKeptAlive: true,
        connectionsMax: plan.connections,
        unsentMaxMs: plan.timeoutMs ?? timeoutMs,
        isSpinning: !cores.areShared,
        ...plan,
        requestsFile,
      };
      return runClient(clientPlan, { cores: cores.load, onMoment, signal });
    });
}

/** Visitors who did not get what they came for: refused, broken off, out of patience, or a wrong answer. */
export function failuresOf({ statuses, broken, gaveUp }: ClientReport): number {
  return Object.entries(statuses).reduce(
    (sum, [status, count]) => (Number(status) < 400 ? sum : sum + count),
    broken + gaveUp,
  );
}
