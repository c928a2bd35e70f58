import { atEndOfTurn } from './clock.ts';

/**
 * Concurrent reads of the same thing, each as fresh as a separate read. Nothing is cached. A read starts at the end of
 * the turn of the event loop in which it was requested and serves all callers of that turn, because each of them asked
 * before it began. A caller that asks while a read is in flight cannot use its result, which may be older than the
 * request, and waits for the next read, which starts when this one has ended and serves all callers that came
 * meanwhile. So any number of callers has one read in flight at a time, and no caller waits for more than two.
 * A read that fails also rejects the waiting callers: the outage would affect them too, and they have waited enough.
 */
export class SharedReads<Value> {
  readonly #read: (key: string) => Promise<Value>;
  /** By key, while any caller waits: the callers of the read that has not started yet, if there are any. */
  readonly #next = new Map<string, PromiseWithResolvers<Value> | undefined>();

  constructor(read: (key: string) => Promise<Value>) {
    this.#read = read;
  }

  read(key: string): Promise<Value> {
    let callers = this.#next.get(key);
    if (callers !== undefined) return callers.promise;
    if (!this.#next.has(key)) atEndOfTurn(() => void this.#serve(key));
    callers = Promise.withResolvers<Value>();
    this.#next.set(key, callers);
    return callers.promise;
  }

  /** Reads until no caller waits. */
  async #serve(key: string): Promise<void> {
    for (let callers = this.#next.get(key); callers !== undefined; callers = this.#next.get(key)) {
      this.#next.set(key, undefined);
      try {
        callers.resolve(await this.#read(key));
      } catch (error) {
        callers.reject(error);
        this.#next.get(key)?.reject(error);
        break;
      }
    }
    this.#next.delete(key);
  }
}
