/**
 * Recounts into separate tables that replace the active ones in one step. Queries meanwhile get the old numbers, and a
 * failure leaves them as they were.
 *
 * A recount of everything needs no pause: what is counted into the old tables meanwhile is not in the new ones, and
 * neither is its place in the log, so it is counted from there again. A recount of days keeps all other days and their
 * places, so it ends in a pause in which no process counts: a new generation shares the files of the old one, its days
 * are replaced by the recounted ones, and one row activates it. If a process counted all the same, it is tried again.
 */
import { Problem } from '../../../base/errors.ts';
import { type ClickHouse, quoted, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import type { LogBatch } from '../../log.ts';
import type { PickedClicks, SpanReplay, TimeSpan } from '../../replay.ts';
import {
  type ApplyResult,
  type CountedProducer,
  type CountingPause,
  grainMs,
  type RecountPlan,
} from '../../warehouse.ts';
import {
  clickColumns,
  type GenerationTable,
  scopedTables,
  tableName,
  timeColumns,
  viewedTables,
} from './columns.ts';
import { type Counter, DeletionsSince, serverTime } from './count.ts';
import type { Generations } from './generations.ts';
import { describeGeneration, keepClicks, noteUpgrade } from './upgrade.ts';

export interface RecountTools {
  readonly clickHouse: ClickHouse;
  readonly generations: Generations;
  readonly counter: Counter;
  readonly clickDays: number;
  readonly positions: () => Promise<ReadonlyMap<string, number>>;
}

const copyMaxMs = 60 * 60_000;
const changeMaxMs = 10 * 60_000;
const readMaxMs = 60_000;
/** How often a replay catches up with running consumers before it makes them wait. */
const roundsMax = 5;
const attemptsMax = 3;
/** As many as a block has: few large inserts make few parts to merge. */
const clicksAtOnce = 100_000;
export async function recountAll(
  { clickHouse, generations, counter, clickDays }: RecountTools,
  plan: RecountPlan,
  batches: AsyncIterable<readonly LogBatch[]>,
): Promise<ApplyResult> {
  await generations.ready();
  await generations.dropAbandoned();
  const before = await generations.refreshed();
  const begunAt = await serverTime(clickHouse);
  const fresh = await generations.make();
  const deletions = new DeletionsSince(clickHouse, fresh, begunAt);
  let [clicks, duplicates] = [0, 0];
  await replacing(generations, before, fresh, async activate => {
    await keepClicks(clickHouse, fresh, clickDays);
    const known = await producersIn(clickHouse, before);
    await copyOlder(clickHouse, before, fresh, plan.countFrom);
    for await (const chunk of batches) {
      await deletions.repeat();
      const result = await counter.applyTo(fresh, chunk, plan.countFrom);
      clicks += result.clicks;
      duplicates += result.duplicates;
    }
    await keepUnread(clickHouse, fresh, known, plan);
    await deletions.repeat();
    await activate();
    // Of what was deleted a moment ago the rows were removed from the old tables.
    await deletions.repeat();
    return true;
  });
  return { clicks, duplicates };
}

/** `replay` covers whole days. */
export async function recountDays(
  tools: RecountTools,
  replay: SpanReplay,
  pause: CountingPause,
): Promise<void> {
  const { clickHouse, generations, counter, positions } = tools;
  await generations.ready();
  await generations.dropAbandoned();
  const begunAt = await serverTime(clickHouse);
  const before = await generations.refreshed();
  const scratch = new ScratchTables(counter, await generations.make());
  try {
    for (let round = 0; round < roundsMax && !replay.hasReached(await positions()); round += 1)
      await scratch.add(replay.upTo(await positions()));
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      const fresh = await generations.make(scratch.generation + attempt);
      const exchange = { replay, pause, scratch, before, fresh, begunAt };
      if (await replacing(generations, before, fresh, activate => exchangeDays(tools, exchange, activate)))
        return;
    }
    throw new Problem('stats_unavailable', {
      detail: 'Clicks are being counted without a pause, so nothing was repaired; try again.',
    });
  } finally {
    await generations.drop(scratch.generation).catch(() => undefined);
  }
}

/**
 * Fills a new generation and drops the one that is not active then; `fill` says whether the new one is. When it is
 * unknown which is active, because `activate` failed, neither is dropped; the next recount drops what is left.
 */
async function replacing(
  generations: Generations,
  before: number,
  fresh: number,
  fill: (activate: () => Promise<void>) => Promise<boolean>,
): Promise<boolean> {
  let mayBeActive = false;
  const activate = async (): Promise<void> => {
    mayBeActive = true;
    await generations.activate(fresh);
  };
  try {
    const isActive = await fill(activate);
    await generations.drop(isActive ? before : fresh).catch(() => undefined);
    return isActive;
  } catch (error) {
    if (!mayBeActive) await generations.drop(fresh).catch(() => undefined);
    throw error;
  }
}

interface DayExchange {
  readonly replay: SpanReplay;
  readonly pause: CountingPause;
  readonly scratch: ScratchTables;
  readonly before: number;
  readonly fresh: number;
  /** When the recount began, by the server's clock. */
  readonly begunAt: number;
}

/** True when the new generation is active. */
async function exchangeDays(
  { clickHouse, generations, clickDays, positions }: RecountTools,
  { replay, pause, scratch, before, fresh, begunAt }: DayExchange,
  activate: () => Promise<void>,
): Promise<boolean> {
  await keepClicks(clickHouse, fresh, clickDays);
  let lookedAt = begunAt;
  return pause.during(
    async () => {
      lookedAt = await serverTime(clickHouse);
      await scratch.add(replay.upTo(await positions()));
      await shareGeneration(clickHouse, before, fresh, replay.span);
    },
    async () => {
      // What was deleted while it was recounted, and below, while files were shared.
      const except = await forgottenSince(clickHouse, begunAt, lookedAt);
      await replaceDays(clickHouse, { fresh, scratch: scratch.generation, span: replay.span, except });
      await writeHours(clickHouse, fresh, replay);
      await forgetLinks(clickHouse, fresh, await forgottenSince(clickHouse, lookedAt));
      if ((await generations.refreshed()) !== before)
        throw new Problem('stats_unavailable', { detail: 'Another process has recounted everything.' });
      await replay.requireKept();
      await activate();
    },
  );
}

/** Clicks of a recount, counted into tables that no process reads. */
class ScratchTables {
  readonly generation: number;
  readonly #counter: Counter;
  #inserts = 0;

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
        if (heldClicks < clicksAtOnce) continue;
        await this.#insert(held);
        [held, heldClicks] = [[], 0];
      }
    }
    await this.#insert(held);
  }

  async #insert(clicks: readonly PickedClicks[]): Promise<void> {
    if (clicks.length === 0) return;
    this.#inserts += 1;
    await this.#counter.fill(this.generation, `repair/${this.#inserts}`, clicks);
  }
}

/** Everything except the ledger's entries on what was counted in the days. */
async function shareGeneration(
  clickHouse: ClickHouse,
  before: number,
  fresh: number,
  span: TimeSpan,
): Promise<void> {
  for (const table of viewedTables) await shareTable(clickHouse, table, before, fresh);
  await shareEarlier(clickHouse, before, fresh, span);
  const isReplaced = `kind = 'hour' AND hour >= ${seconds(span.from)} AND hour < ${seconds(span.to)}`;
  await change(
    clickHouse,
    `INSERT INTO ${tableName('ledger', fresh)} (kind, name, hour, position, counted, skipped, duplicates)
      SELECT kind, name, hour, position, if(${isReplaced}, 0, counted), skipped, duplicates
      FROM ${tableName('ledger', before)}`,
  );
}

/** What is older than an upgrade, without the days; their single clicks come with those of now. */
async function shareEarlier(
  clickHouse: ClickHouse,
  before: number,
  fresh: number,
  { from, to }: TimeSpan,
): Promise<void> {
  const upgrade = await describeGeneration(clickHouse, before);
  if (upgrade.listsFrom > 0) await noteUpgrade(clickHouse, fresh, upgrade);
  if (!upgrade.hasEarlier) return;
  const earlier = tableName('earlier', fresh);
  await change(clickHouse, `CREATE TABLE IF NOT EXISTS ${earlier} AS ${tableName('earlier', before)}`);
  await shareTable(clickHouse, 'earlier', before, fresh);
  await change(
    clickHouse,
    `DELETE FROM ${earlier} WHERE at >= ${timeOf('at', from)} AND at < ${timeOf('at', to)}`,
  );
}

interface Replacement {
  readonly fresh: number;
  /** The tables that hold the recounted days. */
  readonly scratch: number;
  readonly span: TimeSpan;
  /** Links that stay as they are. */
  readonly except: readonly string[];
}

async function replaceDays(
  clickHouse: ClickHouse,
  { fresh, scratch, span, except }: Replacement,
): Promise<void> {
  await forgetLinks(clickHouse, scratch, except);
  const others = except.length === 0 ? '' : ` AND scope NOT IN ${quotedList(except)}`;
  for (const table of viewedTables) {
    const column = timeColumns[table];
    const isReplaced = `${column} >= ${timeOf(column, span.from)} AND ${column} < ${timeOf(column, span.to)}`;
    // Of a link whose counts were deleted, both sides have all single clicks.
    const condition = isReplaced + (table === 'clicks' ? '' : others);
    await change(clickHouse, `DELETE FROM ${tableName(table, fresh)} WHERE ${condition}`);
    await shareTable(clickHouse, table, scratch, fresh);
  }
}

async function writeHours(clickHouse: ClickHouse, generation: number, { hours }: SpanReplay): Promise<void> {
  await insertLedger(
    clickHouse,
    generation,
    [...hours].map(({ hour, producer, clicks }) => ({
      kind: 'hour',
      name: producer,
      hour: hour / 1_000,
      counted: clicks,
    })),
  );
}

async function insertLedger(
  clickHouse: ClickHouse,
  generation: number,
  rows: readonly object[],
): Promise<void> {
  if (rows.length === 0) return;
  const body = rows.map(row => JSON.stringify(row)).join('\n');
  await clickHouse.insert({ table: tableName('ledger', generation), format: 'JSONEachRow', body });
}

/** Takes out all that was counted of some links. Single clicks stay and are hidden by the deletion. */
async function forgetLinks(
  clickHouse: ClickHouse,
  generation: number,
  codes: readonly string[],
): Promise<void> {
  if (codes.length === 0) return;
  for (const table of scopedTables)
    await change(
      clickHouse,
      `DELETE FROM ${tableName(table, generation)} WHERE scope IN ${quotedList(codes)}`,
    );
}

async function forgottenSince(
  clickHouse: ClickHouse,
  from: number,
  to = Number.MAX_SAFE_INTEGER,
): Promise<string[]> {
  const rows = await clickHouse.rows<{ code: string }>(`
    SELECT DISTINCT code FROM forgotten
    WHERE toUnixTimestamp64Milli(noted) >= ${from} AND toUnixTimestamp64Milli(noted) < ${to}`);
  return rows.map(({ code }) => code);
}

/** The files of a table become another's as well; a later change to either does not affect the other. */
async function shareTable(
  clickHouse: ClickHouse,
  table: GenerationTable,
  from: number,
  to: number,
): Promise<void> {
  const [source, target] = [tableName(table, from), tableName(table, to)];
  const rows = await clickHouse.rows<{ id: string }>(`
    SELECT DISTINCT partition_id AS id FROM system.parts
    WHERE database = currentDatabase() AND table = ${quoted(source)} AND active ORDER BY id`);
  for (const { id } of rows)
    await change(clickHouse, `ALTER TABLE ${target} ATTACH PARTITION ID ${quoted(id)} FROM ${source}`);
}

/** Copies what is older than a recount of everything. */
async function copyOlder(clickHouse: ClickHouse, from: number, to: number, countFrom: number): Promise<void> {
  if (countFrom === 0) return;
  const copy = (statement: string): Promise<void> => clickHouse.run(statement, { deadlineMs: copyMaxMs });
  const { listsFrom, filledFrom, hasEarlier } = await describeGeneration(clickHouse, from);
  if (listsFrom > 0)
    await noteUpgrade(clickHouse, to, { listsFrom: Math.min(listsFrom, countFrom), filledFrom });
  for (const table of viewedTables) {
    const older = `WHERE ${timeColumns[table]} < ${timeOf(timeColumns[table], countFrom)}`;
    const [source, target] = [tableName(table, from), tableName(table, to)];
    await copy(`INSERT INTO ${target} SELECT * FROM ${source} ${older}`);
    if (table !== 'clicks' || !hasEarlier) continue;
    const columns = clickColumns.join(', ');
    await copy(
      `INSERT INTO ${target} (${columns}) SELECT ${columns} FROM ${tableName('earlier', from)} ${older}`,
    );
  }
  await copy(`
    INSERT INTO ${tableName('ledger', to)} SELECT * FROM ${tableName('ledger', from)}
    WHERE kind = 'hour' AND hour < ${seconds(countFrom)}`);
}

function producersIn(clickHouse: ClickHouse, generation: number): Promise<CountedProducer[]> {
  return clickHouse.rows<CountedProducer>(
    `SELECT name AS producer, max(position) AS sequence FROM ${tableName('ledger', generation)}
    WHERE kind = 'producer' GROUP BY producer`,
    { deadlineMs: readMaxMs },
  );
}

/**
 * Producers without anything to read keep the number that they had when the recount began, and not a later one: what
 * was counted since then is counted again. `known` are those of the old tables, from before anything was read.
 */
async function keepUnread(
  clickHouse: ClickHouse,
  generation: number,
  known: readonly CountedProducer[],
  { countFrom, producers }: RecountPlan,
): Promise<void> {
  const read = new Set((await producersIn(clickHouse, generation)).map(({ producer }) => producer));
  // Where nothing older stays, they have no clicks that a number could cover.
  const gone = new Set(countFrom > 0 ? [] : producers);
  const kept = known.filter(({ producer }) => !read.has(producer) && !gone.has(producer));
  await insertLedger(
    clickHouse,
    generation,
    kept.map(({ producer, sequence }) => ({ kind: 'producer', name: producer, position: sequence })),
  );
}

const change = (clickHouse: ClickHouse, statement: string): Promise<void> =>
  clickHouse.run(statement, { deadlineMs: changeMaxMs });

const seconds = (at: number): number => Math.floor(at / 1_000);
const timeOf = (column: string, at: number): string =>
  column === 'day' ? `toDate(${Math.floor(at / grainMs.day)})` : `toDateTime(${seconds(at)}, 'UTC')`;
