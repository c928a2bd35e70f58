/** Groups the clicks of a run's busy links (groups.ts), a bounded number at a time. */
import type { Database } from 'bun:sqlite';
import { Chunk, type ChunkRow, chunkColumns, chunkRowsMax } from './chunk.ts';
import { GroupBuilder, type GroupedChunks, groupChunksMax, groupChunksMin } from './groups.ts';
import { claimMs, type Job, newBuilder } from './merge.ts';
import { groupedForm, type Run } from './runs.ts';
import { keyOf } from './totals.ts';

/** So many are deleted where a chunk could be read. */
const partsPerStep = 8;

export class GroupJob implements Job {
  readonly #database: Database;
  readonly #run: Run;
  readonly #work: Generator<number>;
  /** On the run while it is claimed, also when the claim has run out and nobody else has taken it over. */
  readonly builder = newBuilder();

  /** Takes over a run that nobody has claimed. */
  constructor(database: Database, run: Run) {
    this.#database = database;
    this.#run = run;
    this.#work = this.#groupAll();
    database.query('UPDATE runs SET builder = ? WHERE id = ?').run(this.builder, run.id);
  }

  /**
   * Ends when the run was merged or recounted meanwhile: what it got is deleted with it. Also when another process has
   * taken it over, which begins with the group that this one had begun.
   */
  step(rowsMax: number, now: number): number {
    const keep = this.#database.query(
      "UPDATE runs SET claimed_until = ? WHERE id = ? AND state = 'live' AND builder = ?",
    );
    if (keep.run(now + claimMs, this.#run.id, this.builder).changes === 0) return 0;
    for (let rows = 0; rows < rowsMax; ) {
      const next = this.#work.next();
      if (next.done === true) {
        this.#database
          .query('UPDATE runs SET grouped = ?, claimed_until = 0 WHERE id = ?')
          .run(groupedForm, this.#run.id);
        return 0;
      }
      rows += next.value;
    }
    return rowsMax;
  }

  *#groupAll(): Generator<number> {
    yield* this.#tidy();
    for (const candidate of this.#candidates()) yield* this.#group(candidate);
  }

  /** Deletes groups of an earlier form, and parts that belong to none: what a process left that ended before it was done. */
  *#tidy(): Generator<number> {
    const run = this.#run.id;
    this.#database.query('DELETE FROM groups WHERE run = ? AND parts >= 0').run(run);
    const deleteSome = this.#database.query(
      `DELETE FROM group_parts WHERE id IN (
        SELECT id FROM group_parts
        WHERE run = ?1 AND chunk NOT IN (SELECT chunk FROM groups WHERE run = ?1) LIMIT ${partsPerStep})`,
    );
    while (deleteSome.run(run).changes > 0) yield chunkRowsMax;
  }

  /** Clicks that are too different for one group may be alike enough for two. */
  *#group(candidate: GroupedChunks): Generator<number> {
    yield 1;
    const { run, chunks } = candidate;
    if (chunks.length < groupChunksMin) return;
    const begun = this.#database.query<{ last_chunk: number }, [number, number]>(
      'SELECT last_chunk FROM groups WHERE run = ? AND chunk = ?',
    );
    const done = begun.get(run, chunks[0]!);
    if (done !== null)
      yield* this.#group({ ...candidate, chunks: chunks.filter(id => id > done.last_chunk) });
    else if (!(yield* this.#store(candidate))) {
      const half = chunks.length >>> 1;
      yield* this.#group({ ...candidate, chunks: chunks.slice(0, half) });
      yield* this.#group({ ...candidate, chunks: chunks.slice(half) });
    }
  }

  /** False when the clicks are too different. */
  *#store(candidate: GroupedChunks): Generator<number, boolean> {
    const read = this.#database.query<ChunkRow, [number]>(
      `SELECT ${chunkColumns.join(', ')} FROM chunks WHERE id = ?`,
    );
    const builder = new GroupBuilder(candidate.chunks.length);
    for (const id of candidate.chunks) {
      const isAlike = builder.add(new Chunk(read.get(id)!).rows());
      yield chunkRowsMax;
      if (!isAlike) return false;
    }
    yield* builder.store(this.#database, candidate);
    return true;
  }

  /** Chunks that follow each other and hold one link only. */
  *#candidates(): Generator<GroupedChunks> {
    const run = this.#run.id;
    const busy = this.#database
      .query<{ owner: string; hash: number }, [number, number]>(
        'SELECT owner, hash FROM chunks WHERE run = ? GROUP BY owner, hash HAVING count(*) >= ?',
      )
      .all(run, groupChunksMin);
    for (const { owner, hash } of busy)
      for (const { code, ids } of this.#wholeChunks(owner, hash))
        for (let first = 0; first < ids.length; first += groupChunksMax)
          yield { run, key: keyOf(owner, code), chunks: ids.slice(first, first + groupChunksMax) };
  }

  /** By link: codes with the same hash are rare, but they are. */
  #wholeChunks(owner: string, hash: number): { readonly code: string; readonly ids: readonly number[] }[] {
    const rows = this.#database
      .query<{ id: number; links: Uint8Array }, [number, string, number]>(
        'SELECT id, links FROM chunks WHERE run = ? AND owner = ? AND hash = ? ORDER BY id',
      )
      .all(this.#run.id, owner, hash);
    const whole = rows.flatMap(({ id, links }) => {
      const { owners } = new Chunk({ links });
      const codes = owners.flatMap(each => each.codes);
      return owners.length === 1 && codes.length === 1 ? [{ id, code: codes[0]! }] : [];
    });
    return [...Map.groupBy(whole, ({ code }) => code)].map(([code, chunks]) => ({
      code,
      ids: chunks.map(({ id }) => id),
    }));
  }
}
