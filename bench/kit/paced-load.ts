/**
 * Load at a constant rate (an open loop): visitors come whether or not the server keeps up. It measures latency, where
 * a closed loop measures throughput.
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
  /** False for a new connection per visitor. */
  readonly isKeptAlive?: boolean;
  /** Whether the client keeps time by busy-waiting; by default where it has a core to itself. */
  readonly isSpinning?: boolean;
  /** Called during the load. */
  readonly onMoment?: OnMoment;
  /** Ends the load early; the promise of a report is then rejected. */
  readonly signal?: AbortSignal;
}

export type PacedRunner = (plan: PacedPlan, cores: Cores) => Promise<ClientReport>;

/** Server and client are JIT-compiled, so their first second is slower. */
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

/** Visits that failed: rejected, broken, timed out, or with a wrong answer. */
export function failuresOf({ statuses, broken, gaveUp }: ClientReport): number {
  return Object.entries(statuses).reduce(
    (sum, [status, count]) => (Number(status) < 400 ? sum : sum + count),
    broken + gaveUp,
  );
}
