/**
 * The change feed. Its numbers become visible in their order (see schema.ts), so a reader continues after the last one
 * it has seen and misses nothing. A server that took over from another may lack the last changes of that one, and would
 * reuse their numbers, which readers have seen; so it continues far ahead of them, and readers find a gap instead.
 */
import type { Postgres, PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import type { Link } from '../../link.ts';
import { type EventRow, type EventType, eventOf, type LinkEvent } from '../../outbox.ts';
import type { Change, ChangePage } from '../../store.ts';

export interface ChangeNote extends Pick<Change, 'code' | 'claim'> {
  readonly at: number;
  readonly event?: { readonly type: EventType; readonly link: Link } | undefined;
}

/** How many numbers are passed over when the server is not the one that gave the last: more than it can have lost. */
export const forgottenChangesMax = 10_000_000;

/** What an UPDATE of `feed` sets in order to take this many numbers. */
export const takingNumbers = (count: string): string => `
  last_seq = last_seq + ${count} + CASE WHEN lineage = terse_lineage() THEN 0 ELSE ${forgottenChangesMax} END,
  pruned_seq = CASE WHEN lineage = terse_lineage() THEN pruned_seq ELSE last_seq + ${forgottenChangesMax} END,
  lineage = terse_lineage()`;

const noting = (events: string): string => `
  WITH counted AS (UPDATE feed SET ${takingNumbers('$1')} RETURNING last_seq)${events}
  INSERT INTO changes (seq, at, code, claim_length, claim_id)
  SELECT last_seq + place, at, code, claim_length, claim_id FROM counted,
    json_to_recordset($2::json) AS note(place int8, at int8, code text, claim_length int4, claim_id int8)`;
const noteOnly = noting('');
const noteWithEvents = noting(`, appended AS (
  INSERT INTO outbox (seq, type, link) SELECT last_seq + place, type, link FROM counted,
    json_to_recordset($2::json) AS event(place int8, type text, link text) WHERE type IS NOT NULL)`);

/** The last statement of its transaction: all that write to the feed wait for one another from here to COMMIT. */
export async function noteChanges(tx: PostgresTransaction, notes: readonly ChangeNote[]): Promise<void> {
  if (notes.length === 0) return;
  const rows = notes.map(({ at, code, claim, event }, index) => ({
    place: index - notes.length + 1,
    at,
    code,
    claim_length: claim?.length,
    claim_id: claim?.id,
    ...(event && { type: event.type, link: JSON.stringify(event.link) }),
  }));
  const hasEvents = notes.some(({ event }) => event !== undefined);
  await tx.query(hasEvents ? noteWithEvents : noteOnly, [notes.length, JSON.stringify(rows)], {
    name: hasEvents ? 'note-events' : 'note-changes',
  });
}

export async function readEvents(postgres: Postgres, afterSeq: number, limit: number): Promise<LinkEvent[]> {
  const text = 'SELECT seq, type, link FROM outbox WHERE seq > $1 ORDER BY seq LIMIT $2';
  return (await postgres.read<EventRow>(text, [afterSeq, limit])).map(eventOf);
}

interface FeedRow {
  last_seq: number;
  pruned_seq: number;
  /** Null, as all that follows, in the only row of an empty page. */
  seq: number | null;
  code: string;
  claim_length: number | null;
  claim_id: number | null;
}

export async function readChanges(postgres: Postgres, afterSeq: number, limit: number): Promise<ChangePage> {
  const rows = await postgres.read<FeedRow>(
    `SELECT last_seq, pruned_seq, seq, code, claim_length, claim_id FROM feed LEFT JOIN LATERAL (
       SELECT * FROM changes WHERE changes.seq > $1 ORDER BY changes.seq LIMIT $2
     ) AS page ON true ORDER BY seq`,
    [afterSeq, limit],
    { name: 'changes' },
  );
  const { last_seq: lastSeq, pruned_seq: prunedSeq } = rows[0]!;
  const changes = rows.flatMap(row => changeOf(row) ?? []);
  const endSeq = changes.length < limit ? lastSeq : (changes.at(-1)?.seq ?? afterSeq);
  return { changes, lastSeq, endSeq, resumeSeq: endSeq, gap: afterSeq < prunedSeq };
}

function changeOf({ seq, code, claim_length, claim_id }: FeedRow): Change | undefined {
  if (seq === null) return undefined;
  const claim =
    claim_length === null || claim_id === null ? undefined : { length: claim_length, id: claim_id };
  return { seq, code, claim };
}
