/**
 * Which generation of tables is active. A rebuild replaces it by one row, for all processes at once; a process that
 * still queries the old one finds it dropped and asks again.
 */
import type { Clock } from '../../../base/clock.ts';
import { type ClickHouse, isUnknownTable } from '../../../engines/clickhouse/clickhouse.ts';
import { generationTables } from './columns.ts';
import { dropStatements, firstGeneration, generationStatements } from './schema.ts';

/** How long the known answer is used without asking again. */
const freshMs = 1_000;
/** For this long an answer may come from the old tables: meanwhile no caller waits for the question. */
const knownMaxMs = 2_000;
const attemptsMax = 3;
const dropMaxMs = 60_000;
/** A generation is named after the time it was begun; one that was begun longer ago will not be finished. */
const abandonedMs = 24 * 60 * 60_000;

/** If two were activated at the same moment, every process finds the same one. */
export const currentGeneration = `SELECT argMax(generation, (at, generation)) FROM generations`;

export class Generations {
  readonly #clickHouse: ClickHouse;
  readonly #clock: Clock;
  readonly #prepare: () => Promise<void>;
  #prepared: Promise<void> | undefined;
  #asking: Promise<number> | undefined;
  /** How often what was known, or about to be, was put in doubt. */
  #doubts = 0;
  #known: { readonly generation: number; readonly atMs: number } | undefined;

  /** `prepare` makes sure that there are tables, before anything is done with them. */
  constructor(clickHouse: ClickHouse, clock: Clock, prepare: () => Promise<void>) {
    this.#clickHouse = clickHouse;
    this.#clock = clock;
    this.#prepare = prepare;
  }

  /** The first caller prepares the tables; when that fails, the next caller tries again. */
  async ready(): Promise<void> {
    this.#prepared ??= this.#prepare();
    try {
      await this.#prepared;
    } catch (error) {
      this.#prepared = undefined;
      throw error;
    }
  }

  /**
   * Does something with the active tables, and does it again when they were replaced meanwhile. After any failure what
   * was known of them is checked again: a server may have come back with an empty disk.
   */
  async use<Result>(work: (generation: number) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.ready();
        return await work(await this.current());
      } catch (error) {
        this.#prepared = undefined;
        this.#doubt();
        if (attempt === attemptsMax || !isUnknownTable(error)) throw error;
      }
    }
  }

  async current(): Promise<number> {
    const known = this.#known;
    const ageMs = known === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs() - known.atMs;
    if (ageMs < freshMs) return known!.generation;
    // Questions come several at once, and one answer serves all of them.
    this.#asking ??= this.#ask();
    if (ageMs >= knownMaxMs) return this.#asking;
    // A failure shows when the next one has to wait for the answer.
    this.#asking.catch(() => {});
    return known!.generation;
  }

  async #ask(): Promise<number> {
    const [before, doubts] = [this.#known, this.#doubts];
    try {
      const [row] = await this.#clickHouse.rows<{ generation: number }>(
        `SELECT (${currentGeneration}) AS generation`,
      );
      const generation = row?.generation ?? firstGeneration;
      // Unless another caller got an answer meanwhile, which is newer.
      if (this.#known === before && this.#doubts === doubts) this.note(generation);
      return this.#known?.generation ?? generation;
    } finally {
      if (this.#doubts === doubts) this.#asking = undefined;
    }
  }

  /** Called with an answer that the server has just given. */
  note(generation: number): void {
    this.#known = { generation, atMs: this.#clock.monotonicMs() };
  }

  /** As the server says at this moment. */
  refreshed(): Promise<number> {
    this.#doubt();
    return this.current();
  }

  /** An answer that is on its way may be as old as what was known. */
  #doubt(): void {
    this.#doubts += 1;
    this.#known = undefined;
    this.#asking = undefined;
  }

  /** Separate tables, which no process reads yet. */
  async make(generation = this.#clock.now()): Promise<number> {
    for (const statement of generationStatements(generation)) await this.#clickHouse.run(statement);
    return generation;
  }

  /**
   * From here on all processes read and write this generation. Its row is newer than all others, also when the server's
   * clock was set back: the process that replaces a generation drops it. After a failure it may be active or not.
   */
  async activate(generation: number): Promise<void> {
    await this.#clickHouse.run(`
      INSERT INTO generations (generation, at)
      SELECT ${generation}, greatest(now64(3), max(at) + toIntervalMillisecond(1)) FROM generations`);
    this.note(generation);
  }

  async drop(generation: number): Promise<void> {
    for (const statement of dropStatements(generation)) {
      await this.#clickHouse.run(statement, { deadlineMs: dropMaxMs });
    }
  }

  /** Drops generations that were replaced or abandoned, and not dropped before. */
  async dropAbandoned(): Promise<void> {
    const current = await this.refreshed();
    const found = await this.#clickHouse.rows<{ generation: number }>(`
      SELECT DISTINCT toUInt64(extract(name, '_([0-9]+)$')) AS generation FROM system.tables
      WHERE database = currentDatabase() AND match(name, '^(${generationTables.join('|')})_[0-9]+$')`);
    const oldest = this.#clock.now() - abandonedMs;
    for (const { generation } of found) {
      if (generation !== current && generation < oldest) await this.drop(generation);
    }
  }
}

/**
 * The request to count nothing new for a while, stored where every consumer can see it. It expires by itself, by the
 * server's clock, so that the process that asked may die; and it is only a request, since that process checks whether
 * it was followed.
 */
/** How long an answer is valid. */
const holdFreshMs = 500;

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
    if (this.#known === undefined || nowMs - this.#known.atMs >= holdFreshMs) {
      const [row] = await this.#clickHouse.rows<{ isSet: number }>(
        `SELECT argMax(until, noted) > now64(6, 'UTC') AS isSet FROM holds`,
      );
      this.#known = { isSet: row?.isSet === 1, atMs: nowMs };
    }
    return this.#known.isSet;
  }
}
