/**
 * Concurrent reads of the same thing, each as fresh as a read of its own. Nothing is cached: a caller that asks while a
 * read is in flight cannot use its result, which may be older than the question, and waits for the next read, which
 * starts when this one has ended and serves all callers that came meanwhile. So any number of callers has one read in
 * flight at a time, and no caller waits for more than two.
 * A read that fails also rejects the waiting callers: the outage would hit them too, and they have waited enough.
 */
export class SharedReads<Value> {
  readonly #read: (key: string) => Promise<Value>;
  /** By key, while one is in flight: the next one, once a caller waits for it. */
  readonly #next = new Map<string, PromiseWithResolvers<Value> | undefined>();

  constructor(read: (key: string) => Promise<Value>) {
    this.#read = read;
  }

  read(key: string): Promise<Value> {
    if (!this.#next.has(key)) return this.#start(key);
    const waiting = this.#next.get(key) ?? Promise.withResolvers<Value>();
    this.#next.set(key, waiting);
    return waiting.promise;
  }

  async #start(key: string): Promise<Value> {
    this.#next.set(key, undefined);
    try {
      const value = await this.#read(key);
      this.#end(key, waiting => this.#start(key).then(waiting.resolve, waiting.reject));
      return value;
    } catch (error) {
      this.#end(key, waiting => waiting.reject(error));
      throw error;
    }
  }

  #end(key: string, serve: (waiting: PromiseWithResolvers<Value>) => void): void {
    const waiting = this.#next.get(key);
    this.#next.delete(key);
    if (waiting !== undefined) serve(waiting);
  }
}
