/**
 * What counts add up to hour by hour, for comparing with the ledger. What a link has lost because its owner had its clicks
 * deleted is noted by the hour as well, or every deletion would look like a loss.
 *
 * Links that were followed in an hour are found by their minutes, which have an index by time, and added up from their
 * quarter hours. Once minutes of an hour were dropped it cannot be compared any more.
 */
import type { Database } from 'bun:sqlite';
import type { ClickBatch } from '../../batch.ts';
import { hourMs, hourOf } from '../../replay.ts';
import type { HourSum } from '../../warehouse.ts';

export function createHours(database: Database) {
  const addForgotten = database.query(`
    INSERT INTO forgotten_hours (hour, clicks) VALUES (?1, ?2)
    ON CONFLICT (hour) DO UPDATE SET clicks = clicks + ?2`);
  const addScope = database.query(`
    INSERT INTO forgotten_hours (hour, clicks)
    SELECT start - start % ${hourMs}, sum(clicks + bots) FROM quarters WHERE scope = ? GROUP BY 1
    ON CONFLICT (hour) DO UPDATE SET clicks = clicks + excluded.clicks`);
  const anyMark = database.query<{ found: number }, []>('SELECT 1 AS found FROM forgotten LIMIT 1');
  const noteSince = database.query(`
    INSERT INTO comparable_hours (only, since) VALUES (1, ?1)
    ON CONFLICT (only) DO UPDATE SET since = max(since, ?1)`);
  const readSince = database.query<{ since: number }, []>('SELECT since FROM comparable_hours');
  const sums = database.query<{ hour: number; counted: number }, [number, number]>(`
    SELECT quarters.start - quarters.start % ${hourMs} AS hour, sum(quarters.clicks + quarters.bots) AS counted
    FROM (SELECT DISTINCT scope FROM minutes INDEXED BY minutes_by_start WHERE start >= ?1 AND start < ?2) AS followed
    JOIN scopes ON scopes.id = followed.scope AND instr(scopes.name, ':') = 0
    JOIN quarters ON quarters.scope = followed.scope AND quarters.start >= ?1 AND quarters.start < ?2
    GROUP BY 1`);
  const forgottenRows = database.query<{ hour: number; clicks: number }, [number, number]>(
    'SELECT hour, clicks FROM forgotten_hours WHERE hour >= ? AND hour < ?',
  );

  return {
    /** Of clicks that are being counted, those that their link's owner had deleted. */
    noteCounted(batch: ClickBatch, forgottenBefore: (code: string) => number): void {
      if (anyMark.get() === null) return;
      const marks = batch.links.map(({ code }) => forgottenBefore(code));
      const hours = new Map<number, number>();
      for (const [row, at] of batch.at.entries())
        if (at < marks[batch.link[row]!]!) hours.set(hourOf(at), (hours.get(hourOf(at)) ?? 0) + 1);
      for (const [hour, clicks] of hours) addForgotten.run(hour, clicks);
    },
    /** All that was counted of a link is about to be deleted. */
    noteDeletion(scope: number): void {
      addScope.run(scope);
    },
    /** Minutes before this were dropped, at least some of them. */
    noteDrop(before: number): void {
      noteSince.run(hourOf(before - 1) + hourMs);
    },
    comparableSince: (): number => readSince.get()?.since ?? 0,
    sums: database.transaction((from: number, to: number): HourSum[] => {
      const hours = new Map<number, HourSum>();
      const sumOf = (hour: number): HourSum =>
        hours.get(hour) ?? { hour, counted: 0, forgotten: 0, kept: null };
      for (const { hour, counted } of sums.all(from, to)) hours.set(hour, { ...sumOf(hour), counted });
      for (const { hour, clicks } of forgottenRows.all(from, to))
        hours.set(hour, { ...sumOf(hour), forgotten: clicks });
      return [...hours.values()].sort((a, b) => a.hour - b.hour);
    }),
  };
}
