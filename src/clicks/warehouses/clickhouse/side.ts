/** Clicks of a repair, counted into tables of their own; and of whom they are, hour by hour. */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { addHours, type HourOfProducer, type PickedClicks } from '../../replay.ts';
import type { Counter } from './count.ts';
import { tableName } from './schema.ts';

/** As many as a block has: few large inserts make few parts to merge. */
const insertClicks = 100_000;

export class Side {
  readonly generation: number;
  readonly #counter: Counter;
  readonly #hours = new Map<string, HourOfProducer>();
  #inserts = 0;
  clicks = 0;

  constructor(counter: Counter, generation: number) {
    this.#counter = counter;
    this.generation = generation;
  }

  async add(pieces: AsyncIterable<readonly PickedClicks[]>): Promise<void> {
    let held: PickedClicks[] = [];
    let heldClicks = 0;
    for await (const piece of pieces) {
      for (const picked of piece) {
        held.push(picked);
        heldClicks += picked.rows.length;
        if (heldClicks < insertClicks) continue;
        await this.#insert(held);
        [held, heldClicks] = [[], 0];
      }
    }
    await this.#insert(held);
  }

  /** What the ledger of another generation should say of these hours. */
  async noteHours(clickHouse: ClickHouse, generation: number): Promise<void> {
    if (this.#hours.size === 0) return;
    const lines = [...this.#hours.values()].map(({ hour, producer, clicks }) =>
      JSON.stringify({ kind: 'hour', name: producer, hour: hour / 1_000, counted: clicks }),
    );
    await clickHouse.insert({
      table: tableName('ledger', generation),
      format: 'JSONEachRow',
      body: lines.join('\n'),
    });
  }

  async #insert(clicks: readonly PickedClicks[]): Promise<void> {
    if (clicks.length === 0) return;
    this.#inserts += 1;
    await this.#counter.fill(this.generation, `repair/${this.#inserts}`, clicks);
    for (const picked of clicks) {
      addHours(this.#hours, picked);
      this.clicks += picked.rows.length;
    }
  }
}
