import { pendingLifeMs } from '../config/cache-settings.ts';
import type { Link } from './link.ts';

/**
 * The queue between the acknowledgement of a new link and its row in the store. One port, several drivers;
 * `queue.conformance.ts` defines the contract of this file.
 *
 * - Messages of a resolved `append` are durable. After a rejected one it is unknown what is there: nothing, a part or
 *   all; unless the error has an `outcome` that is `none`.
 * - Messages that were taken and not finished are delivered again, to the next consumer. So everything is delivered at
 *   least once, and the consumer makes sure that a second delivery does no harm.
 */
export interface LinkQueue {
  /**
   * Rejects by the driver's deadline, with all messages or a part of them rejected; with an `overloaded` problem when
   * it was busy with those of other callers and has none of these.
   */
  append(messages: readonly string[]): Promise<void>;
  /** How many messages are not finished yet. */
  behind(): Promise<number>;
  /** The unfinished messages, a bounded number at a time, for callers that read them without taking them. */
  waiting(): AsyncIterable<readonly string[]>;
  /** Consumers share the messages: each message goes to one of them. */
  consume(): QueueConsumer;
  /** Keeps messages that cannot be used where an operator finds them; durable when resolved. */
  deadLetter(letters: readonly DeadLetter[]): Promise<void>;
  /** Appends in flight fail or succeed first. */
  close(): Promise<void>;
}

export interface QueueConsumer {
  /** The next messages, at most `max`; none when none arrived within `waitMs`. Rejects while the queue is down. */
  take(max: number, waitMs: number): Promise<readonly QueuedMessage[]>;
  /**
   * Everything taken so far is settled and is not delivered again; except for messages that went to another consumer in
   * the meantime, which will finish them, too.
   */
  finish(): Promise<void>;
  /** Messages that were taken and not finished are free for other consumers. */
  close(): Promise<void>;
}

export interface QueuedMessage {
  readonly text: string;
  /** Its position in the queue, in the driver's own format. */
  readonly place: string;
}

export interface DeadLetter extends QueuedMessage {
  /** Why it could not be used. */
  readonly reason: string;
}

/**
 * New links that are durable in the queue and not yet in the store, where every process finds them. One port, several
 * drivers; `pending.conformance.ts` defines the contract of this file.
 *
 * A record is written before its link is queued and removed after its link is stored, so a caller that finds neither a
 * record nor, afterwards, a row may say that there is no such link. It is never the only copy of an acknowledged link,
 * and it expires on its own: one whose link was never queued, or whose removal was lost, is deleted at its time.
 */
export interface PendingLinks {
  /** Rejects when it is not certain that every process finds all of them. */
  put(links: readonly Link[]): Promise<void>;
  /** Rejects when it cannot be known whether there is a record. */
  find(code: string): Promise<Link | undefined>;
  remove(codes: readonly string[]): Promise<void>;
  /** The records were unavailable, or at risk, and are in use from now on: some may be missing. */
  onReturn(listener: () => void): void;
}

export const pendingLeftMs = ({ createdAt }: Link, now: number): number => createdAt + pendingLifeMs - now;
