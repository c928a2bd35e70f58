/** A supervisor with workers that a test controls, and a clock that only the test advances. */
import { ManualClock } from '../base/clock.ts';
import { createLog } from '../telemetry/log.ts';
import { type FakeWorker, FakeWorkers, settle } from './fake-workers.ts';
import { Supervisor } from './supervisor.ts';

export class FakeCrew {
  readonly clock = new ManualClock();
  readonly workers = new FakeWorkers();
  readonly logged: { event: string; [field: string]: unknown }[] = [];
  supervisor = this.supervise(1);

  supervise(count: number): Supervisor {
    const { clock, workers } = this;
    const write = (text: string): void => {
      for (const line of text.trim().split('\n')) this.logged.push(JSON.parse(line));
    };
    const log = createLog({ level: 'info', clock, write });
    this.supervisor = new Supervisor({ count, start: workers.start, clock, log });
    return this.supervisor;
  }

  /** A supervisor with all its workers serving. */
  async startAll(count: number): Promise<FakeWorker[]> {
    const started = this.supervise(count).start();
    await ready(this.workers.latest);
    await ready(...this.workers.all.slice(1));
    await started;
    for (const worker of this.workers.all) worker.received.length = 0;
    return [...this.workers.all];
  }

  /** Time passes, and every live worker sends its heartbeat. */
  async pass(ms: number, silent?: FakeWorker): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      this.clock.advance(Math.min(left, 1_000));
      await settle();
      for (const worker of this.workers.alive) if (worker !== silent) await worker.says({ kind: 'beat' });
    }
  }

  events(): string[] {
    // Long enough for what was logged to be written.
    this.clock.advance(50);
    return this.logged.map(({ event }) => event);
  }
}

export async function ready(...which: readonly FakeWorker[]): Promise<void> {
  for (const worker of which) await worker.says({ kind: 'ready' });
}
