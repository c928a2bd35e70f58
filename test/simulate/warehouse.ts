/**
 * The counts of one machine: the real SQLite warehouse on a database in memory that outlives processes. One process
 * uses it at a time, as with a file lock; a power cut loses the latest commits.
 */
import { Database } from 'bun:sqlite';
import type { WarehouseAccess } from '../../src/clicks/pipeline.ts';
import type { Warehouse } from '../../src/clicks/warehouse.ts';
import { warehouseMigrations } from '../../src/clicks/warehouses/sqlite/schema.ts';
import { createSqliteWarehouse } from '../../src/clicks/warehouses/sqlite/warehouse.ts';
import { migrate } from '../../src/engines/sqlite/migrations.ts';
import { bugs } from './bugs.ts';
import type { Party } from './kernel.ts';

/** Made once: migrations would take most of the time of a short run. */
let emptyDatabase: Uint8Array | undefined;

function openEmpty(): Database {
  if (emptyDatabase === undefined) {
    const database = new Database(':memory:', { strict: true });
    migrate(database, warehouseMigrations);
    emptyDatabase = database.serialize();
    database.close();
  }
  return Database.deserialize(emptyDatabase, { strict: true });
}

/** How many batches are counted before the planted bug loses their position. */
const forgetsAfter = 5;

type AnyCall = (...input: unknown[]) => Promise<unknown>;

export class SimWarehouse {
  #database = openEmpty();
  #real = createSqliteWarehouse(this.#database);
  #checkpoint = this.#database.serialize();
  #holder: { readonly party: Party; readonly life: number } | undefined;
  readonly #waiting: (() => void)[] = [];
  /** While true, every call fails. */
  isBroken = false;
  #applied = 0;

  /** For the checks at the end, without the lock. */
  get real(): Warehouse {
    return this.#real;
  }

  checkpoint(): void {
    if (!this.#database.inTransaction) this.#checkpoint = this.#database.serialize();
  }

  /** Loses the latest commits, as a power cut may with synchronous=NORMAL. */
  powerCut(): void {
    this.#holder = undefined;
    this.#database = Database.deserialize(this.#checkpoint, { strict: true });
    this.#real = createSqliteWarehouse(this.#database);
  }

  accessFor(party: Party): WarehouseAccess {
    const life = party.life;
    const calls = Object.fromEntries(
      Object.keys(this.#real).map(name => [
        name,
        async (...input: unknown[]) => {
          if (name === 'close') return undefined;
          await this.#lock(party, life);
          try {
            if (this.isBroken) throw new Error('SQLITE_IOERR');
            const call = (this.#real as unknown as Record<string, AnyCall>)[name]!;
            const result = await call(...input);
            if (name === 'apply') await this.#noteApplied(input[0]);
            if (name === 'maintain' && bugs.has('merge-loses-run') && Number(result) > 0) this.#loseRun();
            return result;
          } finally {
            this.#release(party, life);
          }
        },
      ]),
    );
    const warehouse = calls as unknown as Warehouse;
    return { isCurrent: true, get: () => warehouse, close: () => {} };
  }

  #loseRun(): void {
    this.#database.run(`
      DELETE FROM runs WHERE id = (SELECT max(id) FROM runs WHERE state = 'live' AND clicks > 0)`);
  }

  /** Loses a position once: counting would have no end otherwise. */
  async #noteApplied(batches: unknown): Promise<void> {
    this.#applied += 1;
    const [first] = batches as readonly { readonly partition: string }[];
    if (!bugs.has('counted-twice') || this.#applied !== forgetsAfter || first === undefined) return;
    this.#database.run('DELETE FROM producers');
    await this.#real.retire([first.partition]);
  }

  async #lock(party: Party, life: number): Promise<void> {
    while (this.#holder !== undefined && this.#holder.party.life === this.#holder.life)
      await new Promise<void>(resolve => this.#waiting.push(() => void party.after(1, resolve, life)));
    // Roll back the transaction of a dead process, and drop the warehouse's state in memory.
    if (this.#database.inTransaction) {
      this.#database.run('ROLLBACK');
      this.#real = createSqliteWarehouse(this.#database);
    }
    this.#holder = { party, life };
  }

  #release(party: Party, life: number): void {
    if (this.#holder?.party === party && this.#holder.life === life) this.#holder = undefined;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Wakes those that wait for a dead process. */
  wake(): void {
    for (const next of this.#waiting.splice(0)) next();
  }
}
