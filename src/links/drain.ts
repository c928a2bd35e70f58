/**
 * Moves links from the queue to the store, at its own pace. Several processes may do it at once: the queue delivers
 * each message to one of them, and again to another when that one dies.
 * Invariant: a message is finished only when its link is in the store, found there already, or dead-lettered with the
 * reason. So in any outage, and wherever a process dies, nothing is lost; and since the code is the key, nothing is
 * stored twice.
 */
import { Backoff } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { type Tracer, traced } from '../telemetry/tracing/tracer.ts';
import type { Link } from './link.ts';
import type { DeadLetter, LinkQueue, PendingLinks, QueueConsumer, QueuedMessage } from './queue.ts';
import { decodeQueuedLink, isSameCreation, queuedItem } from './queued-link.ts';
import type { InsertOutcome, LinkStore } from './store.ts';

export interface DrainOptions {
  readonly queue: Pick<LinkQueue, 'consume' | 'deadLetter'>;
  readonly store: Pick<LinkStore, 'insert' | 'find' | 'confirmCommits'>;
  readonly pendings: Pick<PendingLinks, 'remove'>;
  /** Links per second. */
  readonly perS: number;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
  /** Undefined where traces are not collected. */
  readonly tracer?: Tracer | undefined;
}

interface ReadMessage {
  readonly message: QueuedMessage;
  readonly link: Link;
}

interface Verdict {
  /** In the store, whichever process put them there. */
  readonly stored: ReadMessage[];
  /** Can never be stored. */
  readonly dead: DeadLetter[];
  /** Rejected, though it is not certain that the fault is theirs. */
  readonly refused: DeadLetter[];
}

/** One insert's worth; with more, the links behind it would wait too long. */
const handMax = 500;
const takeWaitMs = 500;

export class Drain {
  readonly #options: DrainOptions;
  readonly #pace: DrainPace;
  readonly #pauses: Backoff;
  #running: Promise<void> | undefined;
  drained = 0;
  /** Found in the store: changed before its turn, or delivered twice. */
  foundThere = 0;
  dead = 0;
  failures = 0;
  /** Pending records that could not be removed and expire on their own. */
  recordsLeft = 0;

  constructor(options: DrainOptions) {
    this.#options = options;
    this.#pace = new DrainPace(options.clock, options.perS);
    this.#pauses = new Backoff(options.clock);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Messages in progress are completed if the store answers, and are otherwise left for other processes. */
  async stop(): Promise<void> {
    this.#pauses.end();
    await this.#running;
  }

  async #run(): Promise<void> {
    let consumer = this.#options.queue.consume();
    while (!this.#pauses.isOver) {
      try {
        await this.#drainNext(consumer);
        this.#pauses.reset();
      } catch (error) {
        // Finishing a later message would finish this one, too; a new consumer receives it again.
        await this.#close(consumer);
        await this.#rest(error);
        consumer = this.#options.queue.consume();
      }
    }
    await this.#close(consumer);
  }

  async #close(consumer: QueueConsumer): Promise<void> {
    await consumer.close().catch(error => this.#options.onError(error));
  }

  async #drainNext(consumer: QueueConsumer): Promise<void> {
    const allowed = this.#pace.allowed;
    if (allowed === 0) return this.#pauses.for(this.#pace.waitMs);
    const messages = await consumer.take(Math.min(allowed, handMax), takeWaitMs);
    if (messages.length === 0) return;
    this.#pace.spend(messages.length);
    if (await this.#settle(messages, consumer)) await consumer.finish();
  }

  /** False when it was stopped before all was settled. */
  async #settle(messages: readonly QueuedMessage[], consumer: QueueConsumer): Promise<boolean> {
    const { tracer } = this.#options;
    let left = messages;
    for (;;) {
      try {
        const attributes = { links: left.length };
        left = await traced(tracer, 'drain', { attributes }, () => this.#store(left));
        if (left.length === 0) return true;
        await this.#rest(new Error(`the store refuses ${left.length} queued links and takes no other`));
        // More of them show whether only these cannot be stored, or nothing can.
        left = [...left, ...(await consumer.take(handMax - left.length, 0))];
      } catch (error) {
        await this.#rest(error);
      }
      if (this.#pauses.isOver) return false;
    }
  }

  /**
   * Returns the messages that are not settled yet. Throws while the store or the queue is down; then all may be
   * delivered again.
   */
  async #store(messages: readonly QueuedMessage[]): Promise<readonly QueuedMessage[]> {
    const { queue, pendings, onError } = this.#options;
    const { stored, dead, refused } = await this.#insertAll(messages);
    await pendings.remove(stored.map(({ link }) => link.code)).catch(() => {
      this.recordsLeft += stored.length;
    });
    // The store accepts other links, so the fault is with these.
    const letters = stored.length > 0 ? [...dead, ...refused] : dead;
    // Last, so that a retry does not dead-letter anything twice.
    if (letters.length > 0) await queue.deadLetter(letters);
    this.dead += letters.length;
    for (const { place, reason } of letters)
      onError(new Error(`the queued link at ${place} is dead: ${reason}`));
    return stored.length > 0 ? [] : refused;
  }

  async #insertAll(messages: readonly QueuedMessage[]): Promise<Verdict> {
    const { readable, dead } = readAll(messages);
    const verdict: Verdict = { stored: [], dead, refused: [] };
    try {
      await this.#insert(readable, verdict);
    } catch (error) {
      if (isDown(error)) throw error;
      for (const one of readable) {
        await this.#insert([one], verdict).catch(reason => {
          if (isDown(reason)) throw reason;
          verdict.refused.push(letterOf(one.message, reason));
        });
      }
    }
    return verdict;
  }

  /** Adds to the verdict once the outcome of every given message is known. */
  async #insert(given: readonly ReadMessage[], { stored, dead }: Verdict): Promise<void> {
    if (given.length === 0) return;
    const { store } = this.#options;
    const outcomes = await store.insert(given.map(({ link }) => queuedItem(link)));
    const taken = given.filter((_, index) => !isInserted(outcomes[index]!));
    const found = await Promise.all(taken.map(({ link }) => store.find(link.code)));
    const strangers = new Set(
      taken.filter(({ link }, index) => found[index] === undefined || !isSameCreation(found[index], link)),
    );
    // What an attempt whose answer was lost has left may be visible and not durable yet.
    if (strangers.size < taken.length) await store.confirmCommits?.();
    this.drained += given.length - taken.length;
    this.foundThere += taken.length - strangers.size;
    stored.push(...given.filter(one => !strangers.has(one)));
    for (const { message } of strangers) dead.push(letterOf(message, 'its code belongs to another link'));
  }

  async #rest(error: unknown): Promise<void> {
    this.failures += 1;
    this.#options.onError(error);
    await this.#pauses.afterFailure();
  }
}

/**
 * False when the code is taken, maybe by the same link. A failed write says nothing about its code: it throws, and all
 * are tried again, because a link that is stored already is recognised.
 */
function isInserted(outcome: InsertOutcome): boolean {
  switch (outcome.kind) {
    case 'inserted':
      return true;
    case 'taken':
    case 'found':
    case 'replayed':
      return false;
    case 'failed':
      throw outcome.problem;
  }
}

/** Transient failures, as opposed to a fault of the link. */
const isDown = (error: unknown): boolean => error instanceof Problem && error.status === 503;

function readAll(messages: readonly QueuedMessage[]): { readable: ReadMessage[]; dead: DeadLetter[] } {
  const readable: ReadMessage[] = [];
  const dead: DeadLetter[] = [];
  for (const message of messages) {
    try {
      readable.push({ message, link: decodeQueuedLink(message.text) });
    } catch (error) {
      dead.push(letterOf(message, error));
    }
  }
  return { readable, dead };
}

function letterOf({ text, place }: QueuedMessage, reason: unknown): DeadLetter {
  return { text, place, reason: reason instanceof Error ? reason.message : String(reason) };
}

const batchMs = 100;
const secondMs = 1_000;

/**
 * The rate at which links go from the queue to the store: a steady number per second, and after a pause a burst of up
 * to one second's worth. With work waiting, enough is saved up for a batch before any of it is spent, because a store
 * writes twenty links in one write about as fast as one.
 */
export class DrainPace {
  readonly #clock: Clock;
  readonly #perS: number;
  #saved: number;
  #savedAtMs: number;

  constructor(clock: Clock, perS: number) {
    this.#clock = clock;
    this.#perS = perS;
    this.#saved = perS;
    this.#savedAtMs = clock.monotonicMs();
  }

  /** How many may go now; 0 while less than a batch is saved up. */
  get allowed(): number {
    this.#save();
    return this.#saved < this.#batch ? 0 : Math.floor(this.#saved);
  }

  /** The time until that is more than 0. */
  get waitMs(): number {
    this.#save();
    return Math.max(0, Math.ceil(((this.#batch - this.#saved) / this.#perS) * secondMs));
  }

  spend(count: number): void {
    this.#save();
    this.#saved -= count;
  }

  get #batch(): number {
    return Math.max(1, (this.#perS * batchMs) / secondMs);
  }

  #save(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#saved = Math.min(this.#perS, this.#saved + ((nowMs - this.#savedAtMs) / secondMs) * this.#perS);
    this.#savedAtMs = nowMs;
  }
}
