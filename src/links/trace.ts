/**
 * What a write of a link leaves beside it: an entry in the audit log, and an entry in the queue of links that wait
 * for a moderator. A store keeps both in the transaction of the write, so that no change goes unrecorded and no link is
 * held without a request for review.
 *
 * An ordinary creation leaves nothing: the link's record says who made it and when, and writing every link twice would
 * only repeat that. Values that a later change removes are in that change's `before`.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Actor } from '../accounts/account.ts';
import type { AuditActor, AuditRecord } from '../audit/audit-entry.ts';
import type { RecordWrite } from '../records/record-store.ts';
import { isHeld, type Link, type LinkStatus } from './link.ts';
import type { InsertItem } from './store.ts';

export interface LinkTrace {
  readonly audit: AuditRecord;
  readonly review?: ReviewNote;
}

/**
 * What a trace adds to the transaction of its write. A write whose records were changed by others meanwhile is rejected,
 * and its trace is asked for again.
 */
export type TraceWrites = (trace: LinkTrace) => Promise<readonly RecordWrite[]>;

/** Attempts at a write whose records keep changing. */
const traceAttemptsMax = 12;

/** Writes with the records of a trace, again while `write` finds them stale. */
export async function withTrace<Outcome>(
  traceWrites: TraceWrites,
  trace: LinkTrace | undefined,
  write: (records: readonly RecordWrite[] | undefined) => Promise<Outcome | 'stale'>,
): Promise<Outcome | 'conflict'> {
  for (let attempt = 0; attempt < traceAttemptsMax; attempt += 1) {
    const outcome = await write(trace && (await traceWrites(trace)));
    if (outcome !== 'stale') return outcome;
  }
  return 'conflict';
}

/** Inserts with the records of their traces; the usual ones, which have none, are passed on as they are. */
export function recordedInserts(
  traceWrites: TraceWrites,
  items: readonly InsertItem[],
): readonly RecordedInsert[] | Promise<readonly RecordedInsert[]> {
  if (items.every(({ trace }) => trace === undefined)) return items;
  return Promise.all(
    items.map(async item =>
      item.trace === undefined ? item : { ...item, records: await traceWrites(item.trace) },
    ),
  );
}

/** An insert with its trace as records. */
export interface RecordedInsert extends InsertItem {
  readonly records?: readonly RecordWrite[] | undefined;
}

export type ReviewNote =
  | {
      readonly kind: 'open';
      readonly code: string;
      readonly at: number;
      /** The risk of the link, 0 to 100. */
      readonly score: number;
      /** The link's status before it was held; undefined when it is not, or was held already. */
      readonly heldFrom: 'active' | 'disabled' | undefined;
    }
  | {
      readonly kind: 'close';
      readonly code: string;
      readonly at: number;
      /** Whether the link is held from now on. */
      readonly isHeld: boolean;
      readonly heldFrom: 'active' | 'disabled' | undefined;
    };

/** Undefined for a link that is created without objections. */
export function creationTrace(actor: Actor, link: Link): LinkTrace | undefined {
  if (!isHeld(link)) return undefined;
  const after = { status: link.status, longUrl: link.longUrl, risk: link.risk };
  return {
    audit: linkRecord(actor, 'link.created', link, link.createdAt, { before: null, after }),
    review: openedReview(undefined, link, link.createdAt),
  };
}

/** For an edit or a deletion by a user who may manage the link. */
export function changeTrace(actor: Actor, before: Link, after: Link): LinkTrace {
  const deleted = after.status === 'deleted';
  const action = deleted ? 'link.deleted' : 'link.updated';
  const isRoutine = isByOwner(actor, before);
  const changes = differences(before, after);
  const audit = linkRecord(actor, action, after, after.updatedAt, {
    before: changes.before,
    after: isRoutine ? shortenedAll(changes.after) : changes.after,
    isRoutine,
  });
  if (deleted) return { audit, review: closedReview(before, after) };
  const isNews = isHeld(after) && (!isHeld(before) || before.longUrl !== after.longUrl);
  return isNews ? { audit, review: openedReview(before, after, after.updatedAt) } : { audit };
}

export function linkRecord(
  actor: Actor,
  action: string,
  link: Pick<Link, 'code'>,
  at: number,
  what: { before: unknown; after: unknown; reason?: string | null; isRoutine?: boolean },
): AuditRecord {
  const subject = { kind: 'link', id: link.code } as const;
  return { at, actor: auditActorOf(actor), action, subject, reason: null, isRoutine: false, ...what };
}

/** What owners do to their own links is routine; what anyone else does to them is not. */
export const isByOwner = (actor: Actor, { ownerId }: Pick<Link, 'ownerId'>): boolean =>
  actor.kind === 'account' && actor.accountId === ownerId;

export function auditActorOf(actor: Actor): AuditActor {
  if (actor.kind === 'anonymous') return { kind: 'anonymous', accountId: null, keyId: null };
  return { kind: 'account', accountId: actor.accountId, keyId: actor.keyId };
}

/** Nothing is left to decide: a moderator has decided, or the link is deleted. */
export function closedReview(before: Link, after: Link): ReviewNote {
  const heldFrom = isHeld(after) ? statusBeforeHold(before.status) : undefined;
  return { kind: 'close', code: after.code, at: after.updatedAt, isHeld: isHeld(after), heldFrom };
}

/** The status that moderation restores when it releases a link. */
function statusBeforeHold(status: LinkStatus | undefined): 'active' | 'disabled' | undefined {
  return status === 'active' || status === 'disabled' ? status : undefined;
}

function openedReview(before: Link | undefined, after: Link, at: number): ReviewNote {
  return {
    kind: 'open',
    code: after.code,
    at,
    score: after.risk?.score ?? 0,
    heldFrom: statusBeforeHold(before === undefined ? 'active' : before.status),
  };
}

/** These say nothing about the change, or are part of the entry itself. */
const silentFields: ReadonlySet<string> = new Set(['updatedAt', 'version', 'usedClicks']);

type Facts = Readonly<Record<string, unknown>>;

export function differences(before: Link, after: Link): { before: Facts; after: Facts } {
  const changed = (Object.keys(after) as (keyof Link)[]).filter(
    field => !silentFields.has(field) && !isDeepStrictEqual(before[field], after[field]),
  );
  return {
    before: Object.fromEntries(changed.map(field => [field, before[field]])),
    after: Object.fromEntries(changed.map(field => [field, after[field]])),
  };
}

const shortenedAll = (facts: Facts): Facts =>
  Object.fromEntries(Object.entries(facts).map(([field, value]) => [field, shortened(value)]));

const shownTextMax = 200;
/** For tags, each of which is short. */
const shownItemsMax = 3;

/**
 * In an entry that expires, a long new value is truncated. The link has the whole of it, and when that changes, the
 * `before` of that change has it: a URL of 2 kB is not stored twice for every edit. Entries that are kept forever have
 * everything.
 */
function shortened(value: unknown): unknown {
  if (Array.isArray(value) && JSON.stringify(value).length > shownTextMax) {
    return [...value.slice(0, shownItemsMax), '…'];
  }
  if (typeof value !== 'string' || value.length <= shownTextMax) return value;
  return `${value.slice(0, shownTextMax - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
