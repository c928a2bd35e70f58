/** A run of an installation of several machines on a database and a Redis: clients under faults, then healed and checked. */
import type { Fault } from './faults.ts';
import { Violation } from './history.ts';
import { type Kernel, Party } from './kernel.ts';
import { SharedChecks } from './shared-checks.ts';
import { SharedClients } from './shared-clients.ts';
import { processCount, SharedInstallation, type Writes } from './shared-installation.ts';

const clientCount = 4;
const startedMs = 2_500;
const faultsUntilMs = 30_000;
const settleMs = 20_000;
const lastChecksMaxMs = 120_000;
export const sharedFaultWindow = { processes: processCount, fromMs: startedMs, toMs: faultsUntilMs };

export interface RunFigures {
  readonly operations: number;
  readonly failed: number;
  readonly redirects: number;
}

export class SharedEnginesRun {
  readonly #kernel: Kernel;
  readonly #pace: number;
  readonly #installation: SharedInstallation;
  readonly #checks: SharedChecks;
  readonly #clients: SharedClients;
  #failure: unknown;

  /** `pace`: how many times longer than usual everything that is not a latency or a deadline takes. */
  constructor(kernel: Kernel, writes: Writes, pace = 1) {
    this.#kernel = kernel;
    this.#pace = pace;
    this.#installation = new SharedInstallation(kernel, writes);
    this.#checks = new SharedChecks(this.#installation);
    this.#clients = new SharedClients(this.#installation, this.#checks, pace);
  }

  async run(faults: readonly Fault[]): Promise<RunFigures> {
    const kernel = this.#kernel;
    const installation = this.#installation;
    installation.boot();
    for (const fault of faults) {
      kernel.outside.after(fault.atMs, () => {
        kernel.note(`fault: ${fault.kind} ${fault.process}`);
        installation.begin(fault);
      });
      kernel.outside.after(fault.atMs + fault.forMs, () => installation.end(fault));
    }
    await kernel.runUntil(kernel.startMs + startedMs);
    const faultsEndMs = kernel.startMs + faultsUntilMs * this.#pace;
    for (let index = 0; index < clientCount; index += 1) {
      const client = new Party(kernel, `client-${index}`);
      client.after(kernel.between(0, 200), () =>
        this.#guard(this.#clients.run(client, index, faultsEndMs + settleMs / 2)),
      );
    }
    await this.#runUntil(faultsEndMs + settleMs);
    installation.heal();
    await this.#runUntil(kernel.nowMs + settleMs);
    const { operations, failed, redirects } = this.#clients;
    if (faults.length === 0 && failed > 0)
      throw new Violation(`${failed} of ${operations} requests failed without any fault`);
    await this.#checkAll();
    return { operations, failed, redirects };
  }

  async #checkAll(): Promise<void> {
    const client = new Party(this.#kernel, 'last-client');
    let isDone = false;
    client.after(0, () =>
      this.#guard(
        this.#checks.checkAll(client).then(() => {
          isDone = true;
        }),
      ),
    );
    await this.#runUntil(this.#kernel.nowMs + lastChecksMaxMs, () => isDone);
    if (!isDone) throw new Violation('the last checks did not end: no progress after healing');
  }

  #guard(work: Promise<void>): void {
    work.catch(error => {
      this.#failure ??= error;
    });
  }

  /** Until then, or until something is violated. */
  async #runUntil(endMs: number, isDone = (): boolean => false): Promise<void> {
    const kernel = this.#kernel;
    while (kernel.nowMs < endMs && !isDone()) {
      await kernel.runUntil(Math.min(endMs, kernel.nowMs + 250));
      const { failedStop } = this.#installation;
      if (failedStop !== undefined) this.#failure ??= new Violation(failedStop);
      if (this.#failure !== undefined) throw this.#failure;
    }
  }
}
