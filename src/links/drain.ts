/**
 * Brings links from the queue into the store, at its own pace. Several processes may do it at once: the queue gives each
 * message to one of them, and again to another when one of them dies.
 * Invariant: a message is finished only when its link is in the store, found there already, or buried with the reason. So
 * whatever is away, or dies at whatever point, nothing is lost; and since the code is the key, nothing is there twice.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { Pauses } from '../base/pauses.ts';
import { type Tracer, traced } from '../ops/tracing/tracer.ts';
import { DrainPace } from './drain-pace.ts';
import type { Link } from './link.ts';
import type { PendingLinks } from './pending.ts';
import type { DeadLetter, LinkQueue, QueueConsumer, QueuedMessage } from './queue.ts';
import { decodeQueuedLink, isSameCreation, queuedItem } from './queued-link.ts';
import type { LinkStore } from './store.ts';

export interface DrainOptions {
  readonly queue: Pick<LinkQueue, 'consume' | 'bury'>;
  readonly store: Pick<LinkStore, 'insert' | 'find'>;
  readonly pendings: Pick<PendingLinks, 'remove'>;
  /** Links per second. */
  readonly perS: number;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
  /** Undefined where nobody collects traces. */
  readonly tracer?: Tracer | undefined;
}

interface ReadMessage {
  readonly message: QueuedMessage;
  readonly link: Link;
}

interface Verdict {
  /** In the store, whoever put them there. */
  readonly stored: ReadMessage[];
  /** Can never be stored. */
  readonly dead: DeadLetter[];
  /** Refused, though it is not certain that the fault is theirs. */
  readonly refused: DeadLetter[];
}

/** One insert's worth; with more, the links behind it would wait for too long. */
const handMax = 500;
const takeWaitMs = 500;

export class Drain {
  readonly #options: DrainOptions;
  readonly #pace: DrainPace;
  readonly #pauses: Pauses;
  #running: Promise<void> | undefined;
  drained = 0;
  /** Found in the store: changed before its turn, or given twice. */
  foundThere = 0;
  dead = 0;
  failures = 0;
  /** Pending records that could not be removed and end by themselves. */
  recordsLeft = 0;

  constructor(options: DrainOptions) {
    this.#options = options;
    this.#pace = new DrainPace(options.clock, options.perS);
    this.#pauses = new Pauses(options.clock);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** What is in hand is brought to its end if the store lets us, and is otherwise left for others. */
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
        // To finish what comes after it would finish this, too; as another taker we are given it again.
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
        // More of them tell whether it is these that cannot be stored, or nothing can.
        left = [...left, ...(await consumer.take(handMax - left.length, 0))];
      } catch (error) {
        await this.#rest(error);
      }
      if (this.#pauses.isOver) return false;
    }
  }

  /** Returns the messages that are not settled yet. Throws while the store is away, or the queue; then all may be given again. */
  async #store(messages: readonly QueuedMessage[]): Promise<readonly QueuedMessage[]> {
    const { queue, pendings, onError } = this.#options;
    const { stored, dead, refused } = await this.#insertAll(messages);
    await pendings.remove(stored.map(({ link }) => link.code)).catch(() => {
      this.recordsLeft += stored.length;
    });
    // A store that takes others has something against these.
    const letters = stored.length > 0 ? [...dead, ...refused] : dead;
    // Last, so that what has to be repeated does not bury anything twice.
    if (letters.length > 0) await queue.bury(letters);
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
      if (isAway(error)) throw error;
      for (const one of readable) {
        await this.#insert([one], verdict).catch(reason => {
          if (isAway(reason)) throw reason;
          verdict.refused.push(letterOf(one.message, reason));
        });
      }
    }
    return verdict;
  }

  /** Adds to the verdict when all is known of all that were given. */
  async #insert(given: readonly ReadMessage[], { stored, dead }: Verdict): Promise<void> {
    if (given.length === 0) return;
    const { store } = this.#options;
    const outcomes = await store.insert(given.map(({ link }) => queuedItem(link)));
    const taken = given.filter((_, index) => outcomes[index]?.kind !== 'inserted');
    const found = await Promise.all(taken.map(({ link }) => store.find(link.code)));
    const strangers = new Set(
      taken.filter(({ link }, index) => found[index] === undefined || !isSameCreation(found[index], link)),
    );
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

/** What passes by itself, as opposed to what is wrong with a link. */
const isAway = (error: unknown): boolean => error instanceof Problem && error.status === 503;

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
