/**
 * The request to count nothing new for a while, left where everybody who counts can see it. It ends by itself, by the
 * server's clock, so that whoever asked may die; and it is only a request, since whoever asked looks whether it was heeded.
 */
import type { Clock } from '../../../base/clock.ts';
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';

/** For as long an answer is good. */
const freshMs = 500;

export class Hold {
  readonly #clickHouse: ClickHouse;
  readonly #clock: Clock;
  #known: { readonly isSet: boolean; readonly atMs: number } | undefined;

  constructor(clickHouse: ClickHouse, clock: Clock) {
    this.#clickHouse = clickHouse;
    this.#clock = clock;
  }

  async set(forMs: number): Promise<void> {
    await this.#clickHouse.run(
      `INSERT INTO holds (until) SELECT now64(6, 'UTC') + toIntervalMillisecond(${forMs})`,
    );
  }

  async clear(): Promise<void> {
    await this.#clickHouse.run(`INSERT INTO holds (until) SELECT now64(6, 'UTC')`);
  }

  /** Asked of the server about twice a second at the most. */
  async isSet(): Promise<boolean> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#known === undefined || nowMs - this.#known.atMs >= freshMs) {
      const [row] = await this.#clickHouse.rows<{ isSet: number }>(
        `SELECT argMax(until, noted) > now64(6, 'UTC') AS isSet FROM holds`,
      );
      this.#known = { isSet: row?.isSet === 1, atMs: nowMs };
    }
    return this.#known.isSet;
  }
}
