/**
 * Queued writes (docs/operations/queued-writes.md): the store that new links go through, the gate in front of the queue,
 * and, in processes that work for all, the drain behind it. With direct writes it is the store itself.
 */
import type { Clock } from '../base/clock.ts';
import { endsWithin } from '../base/deadline.ts';
import { type Outcome, Problem } from '../base/errors.ts';
import type { Config, Duties } from '../config/config.ts';
import { describeFailure, type Log } from '../telemetry/log.ts';
import { byLabel, oneValue } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';
import type { Tracer } from '../telemetry/tracing/tracer.ts';
import { Drain } from './drain.ts';
import { PendingRestorer } from './pending-restorer.ts';
import type { LinkQueue, PendingLinks } from './queue.ts';
import { type QueuedStoreFigures, type QueuedStoreOptions, queuedStore } from './queued-store.ts';
import type { LinkStore } from './store.ts';

export interface QueuedWritesOptions {
  readonly config: QueueGateOptions['config'];
  readonly duties: Duties;
  readonly store: LinkStore;
  /** Undefined with direct writes. */
  readonly openQueue: ((onError: (error: unknown) => void) => Promise<OpenQueue>) | undefined;
  /** Whether a code has the shape of leased codes. */
  readonly mayBePending: (code: string) => boolean;
  readonly isUnchangedSince: QueuedStoreOptions['isUnchangedSince'];
  readonly clock: Clock;
  readonly waitClock: Clock;
  readonly log: Log;
  /** Undefined where traces are not collected. */
  readonly tracer: Tracer | undefined;
}

export interface OpenQueue {
  readonly queue: LinkQueue;
  readonly pendings: PendingLinks;
}

export interface QueuedWrites {
  readonly store: LinkStore;
  metrics(): Metric[];
  /** Does not close the store. */
  stop(): Promise<void>;
}

/** A queue that does not respond must not keep a process from ending: its unfinished work goes to other processes. */
const stopMaxMs = 5_000;

export async function startQueuedWrites(options: QueuedWritesOptions): Promise<QueuedWrites> {
  const { config, duties, store, openQueue, mayBePending, isUnchangedSince } = options;
  const { clock, waitClock, log, tracer } = options;
  if (openQueue === undefined) {
    return { store, metrics: () => [], stop: async () => undefined };
  }
  const onError = (error: unknown): void =>
    log.error('queued links cannot be stored', { failure: describeFailure(error) });
  const { queue, pendings } = await openQueue(onError);
  const gate = new QueueGate({
    queue,
    clock,
    config,
    onDown: error => log.warn('the queue accepts no links', { failure: describeFailure(error) }),
    onReturn: () => log.info('the queue accepts links again'),
  });
  const queued = queuedStore({ store, queue, pendings, gate, mayBePending, isUnchangedSince, clock });
  const drain = new Drain({ queue, store, pendings, perS: config.drainPerS, clock, onError, tracer });
  const restorer = new PendingRestorer({ queue, pendings, clock, onError });
  if (duties.api || duties.background) gate.start();
  if (duties.background) {
    drain.start();
    restorer.start();
  }
  return {
    store: queued,
    metrics: () => queueMetrics({ figures: queued.figures, gate, drain, restorer }),
    async stop() {
      gate.stop();
      const stopped = Promise.all([drain.stop(), restorer.stop()]).then(() => queue.close());
      await endsWithin(waitClock, stopMaxMs, stopped);
    },
  };
}

interface QueueParts {
  readonly figures: QueuedStoreFigures;
  readonly gate: QueueGate;
  readonly drain: Drain;
  readonly restorer: PendingRestorer;
}

function queueMetrics({ figures, gate, drain, restorer }: QueueParts): Metric[] {
  return [
    oneValue('terse_links_queued_total', figures.queued),
    oneValue('terse_links_queue_bypassed_total', figures.passed),
    oneValue('terse_links_stored_early_total', figures.storedEarly),
    byLabel('terse_links_queue_rejected_total', {
      full: gate.refusedFull,
      down: gate.refusedWhileDown,
      busy: gate.refusedBusy,
    }),
    oneValue('terse_links_queue_length', gate.behind),
    oneValue('terse_links_queue_down', Number(gate.isDown)),
    oneValue('terse_links_drained_total', drain.drained),
    oneValue('terse_links_drained_duplicate_total', drain.foundThere),
    oneValue('terse_links_dead_lettered_total', drain.dead),
    oneValue('terse_links_drain_failures_total', drain.failures),
    oneValue('terse_pending_links_left_total', drain.recordsLeft),
    oneValue('terse_pending_links_restored_total', restorer.restored),
  ];
}

export interface QueueGateOptions {
  readonly queue: Pick<LinkQueue, 'behind'>;
  readonly clock: Clock;
  readonly config: Pick<Config, 'drainPerS' | 'queueMax'>;
  /** Called when the queue stops accepting links, and when it accepts them again. */
  readonly onDown: (error: unknown) => void;
  readonly onReturn: () => void;
}

const askEveryMs = 1_000;
/** Each may bring thousands of links; the memory they hold is bounded by the bodies of requests. */
const callsMax = 1_000;
const retryMaxS = 60;

/**
 * Whether the queue may be given more: a call is rejected before anything is stored, and before it waits, when the
 * queue is too long, when it did not answer recently, or when too many calls wait for it. The gate asks for its length
 * every second, and an answer shows that it is back: no client has to find out.
 * Invariant: a call is admitted, ends, and is counted out again, or it is rejected with a Problem that says for how
 * long.
 */
export class QueueGate {
  readonly #options: QueueGateOptions;
  #stopAsking: (() => void) | undefined;
  #isAsking = false;
  #calls = 0;
  /** Failures so far; they identify an answer that was requested before the last failure. */
  #failures = 0;
  #behind = 0;
  /** Appended by this process since it last learned how many are waiting. */
  #appendedSince = 0;
  isDown = false;
  refusedFull = 0;
  refusedWhileDown = 0;
  refusedBusy = 0;

  constructor(options: QueueGateOptions) {
    this.#options = options;
  }

  /** How many links wait to be stored, as far as this process knows. */
  get behind(): number {
    return this.#behind + this.#appendedSince;
  }

  start(): void {
    this.#stopAsking = this.#options.clock.every(askEveryMs, () => void this.ask());
    void this.ask();
  }

  stop(): void {
    this.#stopAsking?.();
  }

  /**
   * Runs `append`, which returns whether it added `count` links to the queue, or rejects the call. A failure closes the
   * gate; a queue that was too busy with other links does not count as failed.
   */
  async through(count: number, append: () => Promise<boolean>): Promise<boolean> {
    this.#admit(count);
    this.#calls += 1;
    try {
      const isAppended = await append();
      if (isAppended) this.#appendedSince += count;
      return isAppended;
    } catch (error) {
      if (error instanceof Problem && error.code === 'overloaded') {
        this.refusedBusy += 1;
        throw error;
      }
      this.#failures += 1;
      if (!this.isDown) this.#options.onDown(error);
      this.isDown = true;
      throw unavailable(error, (error as { outcome?: Outcome }).outcome ?? 'unknown');
    } finally {
      this.#calls -= 1;
    }
  }

  async ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const [appended, failures] = [this.#appendedSince, this.#failures];
    try {
      this.#behind = await this.#options.queue.behind();
      this.#appendedSince -= appended;
      if (this.isDown && failures === this.#failures) {
        this.isDown = false;
        this.#options.onReturn();
      }
    } catch {
      // Calls that bring links find out whether the queue accepts them.
    } finally {
      this.#isAsking = false;
    }
  }

  #admit(count: number): void {
    const { drainPerS, queueMax } = this.#options.config;
    if (this.isDown) {
      this.refusedWhileDown += 1;
      throw unavailable(undefined, 'none');
    }
    if (this.#calls >= callsMax) {
      this.refusedBusy += 1;
      throw new Problem('overloaded', {
        detail: 'Too many new links are being queued.',
        headers: { 'Retry-After': '1' },
      });
    }
    const tooMany = this.behind + count - queueMax;
    if (tooMany <= 0) return;
    this.refusedFull += 1;
    const retryS = Math.min(retryMaxS, Math.max(1, Math.ceil(tooMany / drainPerS)));
    throw new Problem('overloaded', {
      detail: 'Too many new links wait to be stored.',
      headers: { 'Retry-After': String(retryS) },
    });
  }
}

function unavailable(cause: unknown, outcome: Outcome): Problem {
  const detail = 'The queue of new links does not take any for now.';
  return new Problem('store_unavailable', { detail, headers: { 'Retry-After': '1' }, cause, outcome });
}
