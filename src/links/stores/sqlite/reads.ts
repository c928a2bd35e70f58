/** What is read the same way by requests, by the reader thread and inside a write. */
import type { Database } from 'bun:sqlite';
import type { Clock } from '../../../base/clock.ts';
import type { DiskWatch } from '../../../engines/sqlite/reading-thread.ts';
import { withLaterFields } from '../../fields.ts';
import type { Link } from '../../link.ts';
import type { IdempotencyRecord, RememberedAnswer } from '../../store.ts';
import { type LinkRow, linkOf, ownerColumn, statusNumber, urlHash } from '../rows.ts';

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

/**
 * Reads a link by its code: on this thread while the file is in memory, on a worker thread while reads wait for the
 * disk. Either way the read starts after it was requested, so it sees everything committed before.
 */
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

/** Links to one URL that are examined for a live one; more would be an owner creating the same link over and over. */
const sameUrlRowsMax = 64;

/** The owner's newest live link to a URL. */
export function prepareFindByUrl(
  database: Database,
): (ownerId: string | null, longUrl: string, now: number) => Link | undefined {
  const find = database.query<LinkRow, [number, number, string, string, number]>(`
    SELECT * FROM (
      SELECT * FROM links WHERE url_hash = ?1 AND status = ${statusNumber('active')} ORDER BY id DESC LIMIT ?2
    ) WHERE owner = ?3 AND long_url = ?4 AND (expires_at IS NULL OR expires_at > ?5)
      AND (max_clicks IS NULL OR used_clicks < max_clicks)
    LIMIT 1`);
  return (ownerId, longUrl, now) => {
    const row = find.get(urlHash(ownerId, longUrl), sameUrlRowsMax, ownerColumn(ownerId), longUrl, now);
    return row === null ? undefined : linkOf(row);
  };
}

export function prepareRecall(
  database: Database,
): (record: IdempotencyRecord) => RememberedAnswer | undefined {
  const find = database.query<{ fingerprint: string; link: string; created_at: number }, [string, string]>(
    'SELECT fingerprint, link, created_at FROM idempotency WHERE owner = ? AND key = ?',
  );
  return ({ ownerId, key, validAfter }) => {
    const found = find.get(ownerId, key);
    if (found === null || found.created_at < validAfter) return undefined;
    return { ...readAnswer(found.link), fingerprint: found.fingerprint };
  };
}

type Answered = Pick<RememberedAnswer, 'outcome' | 'link'>;

export function readAnswer(text: string): Answered {
  const { outcome = 'created', ...link } = JSON.parse(text) as Partial<Pick<Answered, 'outcome'>> & Link;
  // Answers remembered before destinations were judged have no risk.
  return { outcome, link: withLaterFields({ ...link, risk: link.risk ?? null }) };
}

/**
 * The outcome is stored beside the link's own fields, because a new column would make SQLite check every row of this
 * STRICT table. An answer without an outcome was created.
 */
export function answerText({ outcome, link }: Answered): string {
  return JSON.stringify(outcome === 'created' ? link : { ...link, outcome });
}
