/**
 * Concurrent calls for one key share one piece of work: ten thousand visitors of a cold link cost one
 * store read. The key is forgotten as soon as the work settles, so an error is never remembered.
 */
export class SingleFlight<Key, Value> {
  #flights = new Map<Key, Promise<Value>>();

  run(key: Key, work: () => Promise<Value>): Promise<Value> {
    const running = this.#flights.get(key);
    if (running !== undefined) return running;
    const flight = work().finally(() => this.#flights.delete(key));
    this.#flights.set(key, flight);
    return flight;
  }

  has(key: Key): boolean {
    return this.#flights.has(key);
  }

  get size(): number {
    return this.#flights.size;
  }
}
