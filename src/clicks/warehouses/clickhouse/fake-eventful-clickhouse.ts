/** A connection to a real ClickHouse that runs a hook before or after every change. */
import { systemClock } from '../../../base/clock.ts';
import { parseAddress } from '../../../engines/clickhouse/address.ts';
import { ClickHouse, type Insert, type RequestOptions } from '../../../engines/clickhouse/clickhouse.ts';

/** `what` is a statement; of an insert of bytes, its beginning. */
export type Happens = (when: 'before' | 'after', what: string) => void | Promise<void>;

const timeoutMs = 120_000;

export class EventfulClickHouse extends ClickHouse {
  readonly #happens: Happens;

  constructor(url: string, happens: Happens) {
    super({ address: parseAddress(url), clock: systemClock, readMaxMs: timeoutMs, writeMaxMs: timeoutMs });
    this.#happens = happens;
  }

  override async run(statement: string, options?: RequestOptions): Promise<void> {
    await this.#happens('before', statement.trim());
    await super.run(statement, options);
    await this.#happens('after', statement.trim());
  }

  override async insert(insert: Insert): Promise<void> {
    const what = `INSERT INTO ${insert.table} `;
    await this.#happens('before', what);
    await super.insert(insert);
    await this.#happens('after', what);
  }
}
