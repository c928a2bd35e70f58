/**
 * Reading a link by its code: here while the file is in memory, on a thread while reads wait for the disk. Either way the
 * read begins after it was asked for, so it sees whatever was committed before.
 */
import type { Database } from 'bun:sqlite';
import type { Clock } from '../../../base/clock.ts';
import type { DiskWatch } from '../../../engines/sqlite/disk-watch.ts';
import type { Link } from '../../link.ts';
import { type LinkRow, linkOf } from '../rows.ts';

export function prepareFind(database: Database): (code: string) => Link | undefined {
  const byCode = database.query<LinkRow, [string]>('SELECT * FROM links WHERE code = ?');
  return code => {
    const row = byCode.get(code);
    return row === null ? undefined : linkOf(row);
  };
}

export interface PatientReads {
  readonly clock: Clock;
  readonly watch: Pick<DiskWatch, 'isSlow' | 'note'>;
  /** Asks a thread that answers with `prepareFind`. */
  readonly thread: { ask(code: string): Promise<Link | null>; close(): void };
}

export function createFinder(
  reader: Database,
  patient: PatientReads | undefined,
): (code: string) => Promise<Link | undefined> {
  const find = prepareFind(reader);
  if (patient === undefined) return async code => find(code);
  const { clock, watch, thread } = patient;
  return async code => {
    if (watch.isSlow) return (await thread.ask(code)) ?? undefined;
    const startedMs = clock.monotonicMs();
    const link = find(code);
    watch.note(clock.monotonicMs() - startedMs);
    return link;
  };
}
