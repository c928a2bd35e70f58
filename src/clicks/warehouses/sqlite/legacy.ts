/**
 * What earlier versions counted: rows of a scope by the quarter hour and by the UTC day, whose lists are of whole days.
 * They are only read, and removed day by day as days are recounted from the log into runs, the newest first. Days that
 * the log no longer has stay as they are.
 */
import type { Database } from 'bun:sqlite';
import type { DimensionName } from '../../dimensions.ts';
import { Sketch } from '../../sketch/sketch.ts';
import {
  type Counts,
  grainMs,
  type Question,
  type Scope,
  scopeName,
  type TimeRange,
} from '../../warehouse.ts';
import type { Tally } from './tally.ts';
import type { TotalSums } from './totals.ts';

type Range = [scope: number, from: number, to: number];

export class LegacyCounts {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The end of its last day within a range; 0 when it has none there. */
  until(from: number, to: number): number {
    const end = this.end();
    const until = Math.min(end, Math.ceil(to / grainMs.day) * grainMs.day);
    return until > from ? until : 0;
  }

  /** Single clicks before this are missing: they were counted by the earlier version, up to the upgrade. */
  missingUntil(from: number, to: number): number {
    const upgradedAt =
      this.#database.query<{ at: number }, []>('SELECT upgraded_at AS at FROM legacy').get()?.at ?? 0;
    return Math.min(this.until(from, to), Math.ceil(upgradedAt / grainMs.minute) * grainMs.minute);
  }

  /** The end of its last day; 0 when nothing is left of it. */
  end(): number {
    return this.#database.query<{ until: number }, []>('SELECT until FROM legacy').get()?.until ?? 0;
  }

  /** `isByMinute` where the range needs minutes, which are kept for a while. */
  add(tally: Tally, scope: Scope, { from, to, breakdowns }: Question, isByMinute: boolean): void {
    const until = this.until(from, to);
    const id = until === 0 ? undefined : this.#idOf(scope);
    if (id === undefined) return;
    const range: Range = [id, from, Math.min(to, until)];
    for (const { start, clicks, bots, suspicious } of this.#database
      .query<Counts & { start: number }, Range>(
        `SELECT start, clicks, bots, suspicious FROM ${isByMinute ? 'minutes' : 'quarters'}
        WHERE scope = ? AND start >= ? AND start < ?`,
      )
      .all(...range))
      tally.add(tally.bucketAt(start), clicks, bots, suspicious);
    this.#addVisitors(tally.visitors, range);
    if (breakdowns.length === 0) return;
    const day = Math.floor(from / grainMs.day) * grainMs.day;
    for (const { dimensions } of this.#database
      .query<{ dimensions: string }, Range>(
        'SELECT dimensions FROM days WHERE scope = ? AND start >= ? AND start < ?',
      )
      .all(id, day, range[2])) {
      const stored = JSON.parse(dimensions) as Partial<Record<DimensionName, Record<string, number>>>;
      for (const name of tally.lists.keys())
        for (const [value, clicks] of Object.entries(stored[name] ?? {})) tally.list(name, value, clicks);
    }
  }

  /** Whole days from their own sketches, what is left at both ends from quarter hours. */
  #addVisitors(into: Sketch, [id, from, to]: Range): void {
    const first = Math.ceil(from / grainMs.day) * grainMs.day;
    const last = Math.max(first, Math.floor(to / grainMs.day) * grainMs.day);
    const add = (table: 'quarters' | 'days', ...range: Range): void => {
      for (const { visitors } of this.#database
        .query<{ visitors: Uint8Array }, Range>(
          `SELECT visitors FROM ${table} WHERE scope = ? AND start >= ? AND start < ?`,
        )
        .all(...range))
        into.merge(Sketch.from(visitors));
    };
    add('days', id, first, last);
    add('quarters', id, from, Math.min(first, to));
    add('quarters', id, last, to);
  }

  total(scope: Scope): TotalSums | undefined {
    if (this.end() === 0) return undefined;
    return (
      this.#database
        .query<TotalSums, [string]>(
          'SELECT clicks, bots, suspicious, last_at AS lastAt FROM scopes WHERE name = ?',
        )
        .get(scopeName(scope)) ?? undefined
    );
  }

  /** People's clicks of an owner's links. */
  links(ownerId: string): { readonly code: string; readonly clicks: number }[] {
    if (this.end() === 0) return [];
    return this.#database
      .query<{ code: string; clicks: number }, [string]>(
        'SELECT name AS code, clicks FROM scopes WHERE owner = ? AND clicks > 0',
      )
      .all(ownerId);
  }

  forget(code: string): void {
    const id = this.#idOf({ kind: 'link', code, ownerId: null });
    if (id === undefined) return;
    for (const table of ['minutes', 'quarters', 'days'])
      this.#database.query(`DELETE FROM ${table} WHERE scope = ?`).run(id);
    this.#database.query('DELETE FROM scopes WHERE id = ?').run(id);
  }

  /** Removes days that have been recounted. */
  remove({ from, to }: TimeRange): void {
    const end = this.end();
    if (end === 0 || from >= end) return;
    this.#database
      .query(`
        UPDATE scopes SET clicks = scopes.clicks - gone.clicks, bots = scopes.bots - gone.bots,
          suspicious = scopes.suspicious - gone.suspicious
        FROM (
          SELECT scope, sum(clicks) AS clicks, sum(bots) AS bots, sum(suspicious) AS suspicious
          FROM days WHERE start >= ? AND start < ? GROUP BY scope
        ) AS gone WHERE scopes.id = gone.scope`)
      .run(from, to);
    for (const table of ['minutes', 'quarters', 'days'])
      this.#database.query(`DELETE FROM ${table} WHERE start >= ? AND start < ?`).run(from, to);
    if (to < end) return;
    if (this.#database.query('SELECT 1 FROM days LIMIT 1').get() !== null)
      this.#database.query('UPDATE legacy SET until = ?').run(from);
    else
      for (const table of ['legacy', 'scopes', 'minutes', 'quarters'])
        this.#database.run(`DELETE FROM ${table}`);
  }

  /**
   * Versions before that did not note whose link a scope is; the lists of an owner's days show it. Returns whether there
   * was an owner left to do this for.
   */
  fillOwner(): number {
    const next = this.#database
      .query<{ scope: number }, []>('SELECT scope FROM owners_to_fill LIMIT 1')
      .get();
    if (next === null) return 0;
    this.#database
      .query(`
        UPDATE scopes SET owner = followed.owner FROM (
          SELECT DISTINCT substr(owners.name, 7) AS owner, listed.key AS code
          FROM scopes AS owners JOIN days ON days.scope = owners.id, json_each(days.dimensions, '$.link') AS listed
          WHERE owners.id = ?
        ) AS followed WHERE scopes.name = followed.code AND scopes.owner IS NULL`)
      .run(next.scope);
    this.#database.query('DELETE FROM owners_to_fill WHERE scope = ?').run(next.scope);
    return 1;
  }

  #idOf(scope: Scope): number | undefined {
    return this.#database
      .query<{ id: number }, [string]>('SELECT id FROM scopes WHERE name = ?')
      .get(scopeName(scope))?.id;
  }
}
