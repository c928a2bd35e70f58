/**
 * Reads of the same thing by a crowd, each as fresh as a read of its own. Nothing is remembered: whoever asks while a
 * read is on its way may not have its answer, which may be older than the question, and waits for the next one, which
 * begins when this one has ended and is for all who came meanwhile. So a crowd of any size has one read on its way at a
 * time, and nobody waits for more than two.
 * A read that fails fails those who wait, too: what is away would be away for them, and they have waited enough.
 */
export class SharedReads<Value> {
  readonly #read: (key: string) => Promise<Value>;
  /** By key, while one is on its way: the next one, once somebody waits for it. */
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
