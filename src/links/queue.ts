/**
 * The queue between the promise of a new link and its place in the store. One port, several drivers;
 * `queue.conformance.ts` is the meaning of this file.
 *
 * - What a resolved `append` took is durable. After a rejected one nobody knows what is there: nothing, a part or all.
 * - What was taken and not finished is given again, to whoever takes then. So everything is given at least once, and
 *   whoever takes makes sure that twice does no harm.
 */
export interface LinkQueue {
  /**
   * Rejects by the driver's deadline, with all messages or a part of them refused; with an `overloaded` problem when it was
   * busy with those of others and has none of these.
   */
  append(messages: readonly string[]): Promise<void>;
  /** How many messages nobody has finished yet. */
  behind(): Promise<number>;
  /** What nobody has finished yet, a bounded number at a time, for whoever has to know of it without taking it. */
  waiting(): AsyncIterable<readonly string[]>;
  /** Everyone who takes shares the messages with the others, each message going to one of them. */
  consume(): QueueConsumer;
  /** Keeps what nobody can use where a person finds it; durable when resolved. */
  bury(letters: readonly DeadLetter[]): Promise<void>;
  /** What is being appended fails or succeeds first. */
  close(): Promise<void>;
}

export interface QueueConsumer {
  /** The next messages, at most `max`; none when none came within `waitMs`. Rejects while the queue is away. */
  take(max: number, waitMs: number): Promise<readonly QueuedMessage[]>;
  /**
   * Everything taken so far is settled and is not given again; except for what was given to somebody else meanwhile,
   * who will finish it, too.
   */
  finish(): Promise<void>;
  /** What was taken and not finished is free for others. */
  close(): Promise<void>;
}

export interface QueuedMessage {
  readonly text: string;
  /** Where in the queue it lies, in the driver's own words. */
  readonly place: string;
}

export interface DeadLetter extends QueuedMessage {
  /** Why it could not be used. */
  readonly reason: string;
}
