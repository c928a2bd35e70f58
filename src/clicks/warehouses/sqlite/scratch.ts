/**
 * A warehouse on the side, in which the clicks of a repair are counted before they take the place of others. Nobody else
 * knows of it, and nothing of it has to survive: it keeps no journal, and what a crash leaves of it is removed by the next.
 */
import { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import { migrate } from '../../../engines/sqlite/migrations.ts';
import { addToDeltas, type Deltas } from '../../aggregate.ts';
import { clicksAt } from '../../batch.ts';
import { addHours, type HourOfProducer, type PickedClicks } from '../../replay.ts';
import { prepareCounting } from './count.ts';
import { createHours } from './hours.ts';
import { warehouseMigrations } from './schema.ts';

/** Counted in one go: more clicks of a link in a minute are one change to its row. */
const goClicks = 50_000;

export class Scratch {
  readonly database: Database;
  readonly #path: string;
  readonly #forgottenBefore: (code: string) => number;
  readonly #count: (deltas: Deltas) => void;
  readonly #hours: ReturnType<typeof createHours>;
  readonly hoursOfProducers = new Map<string, HourOfProducer>();
  clicks = 0;

  /** `marks` tell of which links clicks before which time do not count. */
  constructor(path: string, marks: ReadonlyMap<string, number>) {
    rmSync(path, { force: true });
    this.#path = path;
    this.#forgottenBefore = code => marks.get(code) ?? 0;
    this.database = new Database(path, { create: true, readwrite: true, strict: true });
    this.database.run('PRAGMA journal_mode = OFF');
    this.database.run('PRAGMA synchronous = OFF');
    migrate(this.database, warehouseMigrations);
    const note = this.database.query('INSERT INTO forgotten VALUES (?, ?)');
    for (const [code, at] of marks) note.run(code, at);
    this.#count = prepareCounting(this.database);
    this.#hours = createHours(this.database);
  }

  async add(pieces: AsyncIterable<readonly PickedClicks[]>): Promise<void> {
    let held: PickedClicks[] = [];
    let heldClicks = 0;
    for await (const piece of pieces) {
      for (const picked of piece) {
        held.push(picked);
        heldClicks += picked.rows.length;
        if (heldClicks < goClicks) continue;
        this.#countAll(held);
        [held, heldClicks] = [[], 0];
      }
    }
    this.#countAll(held);
  }

  close(): void {
    this.database.close();
    rmSync(this.#path, { force: true });
  }

  #countAll(clicks: readonly PickedClicks[]): void {
    const deltas: Deltas = new Map();
    this.database.run('BEGIN');
    for (const picked of clicks) {
      const batch = clicksAt(picked.batch, picked.rows);
      addToDeltas(deltas, batch, { forgottenBefore: this.#forgottenBefore });
      this.#hours.noteCounted(batch, this.#forgottenBefore);
      addHours(this.hoursOfProducers, picked);
      this.clicks += picked.rows.length;
    }
    this.#count(deltas);
    this.database.run('COMMIT');
  }
}
