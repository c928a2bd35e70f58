/**
 * Links in memory: the port in its plainest form, for tests and for trying Terse out. It gives the same guarantees as
 * the engines, except that nothing outlives the process.
 */
import type { RecordWrite } from '../../records/record-store.ts';
import { isLeased, nextRange } from '../leased-spans.ts';
import { isSameLink, type Link, type LinkStatus, stateOf, tombstoneOf } from '../link.ts';
import { isListed, leadsTo } from '../list-match.ts';
import type { EventType, LinkEvent } from '../outbox.ts';
import type {
  Change,
  Claim,
  IdempotencyRecord,
  InsertOutcome,
  LeasedSpan,
  LinkStore,
  ListPage,
  ListQuery,
  RememberedAnswer,
} from '../store.ts';
import { type RecordedInsert, recordedInserts, type TraceWrites, withTrace } from '../trace.ts';
import { cursorOf, rowIdOf } from './rows.ts';

/** A visitor may continue to a quarantined link, and then it counts. */
const followable: ReadonlySet<LinkStatus> = new Set(['active', 'quarantined']);

interface Row {
  readonly id: number;
  /** Whether a lease or a claim keeps the code from being issued again once the row is deleted. */
  readonly isProtected: boolean;
  link: Link;
}

/** `keep` stores the records of a write, or rejects it because they have changed since; nothing is kept by default. */
export function createMemoryStore(
  traceWrites: TraceWrites = async () => [],
  keep: (records: readonly RecordWrite[]) => boolean = () => true,
): LinkStore {
  const rows = new Map<string, Row>();
  const spans = new Map<number, LeasedSpan[]>();
  const claims = new Map<number, Set<number>>();
  const answers = new Map<string, IdempotencyRecord & RememberedAnswer>();
  let changes: (Change & { readonly at: number })[] = [];
  let events: LinkEvent[] = [];
  let lastRowId = 0;
  let lastSeq = 0;
  let writes = 0;
  let secret: Uint8Array | undefined;

  const claimsOf = (length: number): Set<number> => {
    const existing = claims.get(length) ?? new Set();
    claims.set(length, existing);
    return existing;
  };
  const isClaimable = ({ length, id }: Claim): boolean =>
    !isLeased(spans.get(length) ?? [], id) && !claimsOf(length).has(id);
  const noteChange = (at: number, code: string, claim: Change['claim']): void => {
    lastSeq += 1;
    changes.push({ seq: lastSeq, at, code, claim });
  };
  const noteEvent = (type: EventType | undefined, link: Link): void => {
    if (type !== undefined) events.push({ seq: lastSeq, type, link });
  };
  const answerKey = ({ ownerId, key }: IdempotencyRecord): string => JSON.stringify([ownerId, key]);

  const recall = (record: IdempotencyRecord): RememberedAnswer | undefined => {
    const earlier = answers.get(answerKey(record));
    if (earlier === undefined || earlier.createdAt < record.validAfter) return undefined;
    return { outcome: earlier.outcome, link: earlier.link, fingerprint: earlier.fingerprint };
  };

  const remember = (
    record: IdempotencyRecord | undefined,
    outcome: 'created' | 'found',
    link: Link,
  ): void => {
    if (record !== undefined) answers.set(answerKey(record), { ...record, outcome, link });
  };

  const findByUrl = (ownerId: string | null, longUrl: string, now: number): Link | undefined => {
    const same = [...rows.values()].filter(
      ({ link }) => link.ownerId === ownerId && link.longUrl === longUrl,
    );
    return same.reverse().find(({ link }) => stateOf(link, now) === 'active')?.link;
  };

  const existingLink = ({ link, existing }: RecordedInsert): Link | undefined => {
    if (existing === 'same-url') return findByUrl(link.ownerId, link.longUrl, link.createdAt);
    const found = existing === 'same-code' ? rows.get(link.code)?.link : undefined;
    return found !== undefined && isSameLink(found, link) ? found : undefined;
  };

  const insertOne = (item: RecordedInsert): InsertOutcome => {
    const { link, leased, claim, idempotency, records = [], event } = item;
    const earlier = idempotency && recall(idempotency);
    if (earlier !== undefined) return { kind: 'replayed', ...earlier };
    const found = existingLink(item);
    if (found !== undefined) {
      remember(idempotency, 'found', found);
      return { kind: 'found', link: found };
    }
    if (rows.has(link.code)) return { kind: 'taken' };
    if (claim !== undefined && !isClaimable(claim)) return { kind: 'taken' };
    if (!keep(records)) return { kind: 'taken' };
    if (claim !== undefined) claimsOf(claim.length).add(claim.id);
    lastRowId += 1;
    rows.set(link.code, { id: lastRowId, link, isProtected: leased || claim !== undefined });
    if (!leased || event !== undefined) noteChange(link.createdAt, link.code, claim);
    noteEvent(event, link);
    remember(idempotency, 'created', link);
    return { kind: 'inserted' };
  };

  const pageOf = (
    { order, cursor, limit }: Pick<ListQuery, 'order' | 'cursor' | 'limit'>,
    isWanted: (row: Row) => boolean,
  ): ListPage => {
    const after = cursor === undefined ? undefined : rowIdOf(cursor);
    const all = [...rows.values()].filter(isWanted);
    if (order === 'newest') all.reverse();
    const rest = all.filter(
      ({ id }) => after === undefined || (order === 'newest' ? id < after : id > after),
    );
    const page = rest.slice(0, limit);
    const nextCursor = rest.length > page.length ? cursorOf(page.at(-1)!.id) : undefined;
    return { links: page.map(({ link }) => link), nextCursor };
  };

  return {
    find: async code => rows.get(code)?.link,
    async insert(items) {
      writes += 1;
      return (await recordedInserts(traceWrites, items)).map(insertOne);
    },
    replace: (link, trace, event) =>
      withTrace(traceWrites, trace, async records => {
        writes += 1;
        const row = rows.get(link.code);
        if (row === undefined) return 'missing';
        if (row.link.version !== link.version - 1) return 'conflict';
        if (!keep(records ?? [])) return 'stale';
        row.link = { ...link, usedClicks: row.link.usedClicks };
        noteChange(link.updatedAt, link.code, undefined);
        noteEvent(event, link);
        return 'replaced';
      }),
    recall: async record => recall(record),
    async useClick(code, at) {
      writes += 1;
      const row = rows.get(code);
      if (row === undefined || !followable.has(row.link.status)) return false;
      if (row.link.maxClicks !== null && row.link.usedClicks >= row.link.maxClicks) return false;
      row.link = { ...row.link, usedClicks: row.link.usedClicks + 1 };
      if (row.link.usedClicks === row.link.maxClicks) noteChange(at, code, undefined);
      return true;
    },

    findByUrl: async (ownerId, longUrl, now) => findByUrl(ownerId, longUrl, now),
    list: async query => pageOf(query, ({ link }) => isListed(link, query)),
    async count(query) {
      const { links } = pageOf({ ...query, limit: rows.size }, ({ link }) => isListed(link, query));
      return { count: links.length, nextCursor: undefined };
    },
    listByDomain: async query =>
      pageOf({ ...query, order: 'newest' }, ({ link }) => leadsTo(link.longUrl, query.domain)),

    async leaseRange(length, size, limit, first = 0) {
      writes += 1;
      const before = spans.get(length) ?? [];
      const { from, to } = nextRange(before, { first, limit, size });
      spans.set(length, [...before.filter(span => span.first !== first), { first, mark: to }]);
      const covered = [...claimsOf(length)].filter(id => id >= first && id < to);
      for (const id of covered) claimsOf(length).delete(id);
      return { from, to, claimed: covered.filter(id => id >= from) };
    },
    spans: async length => spans.get(length) ?? [],
    claims: async length => [...claimsOf(length)].sort((a, b) => a - b),

    async changes(afterSeq, limit) {
      const oldestSeq = changes[0]?.seq ?? lastSeq + 1;
      const page = changes.filter(({ seq }) => seq > afterSeq).slice(0, limit);
      const endSeq = page.length < limit ? lastSeq : (page.at(-1)?.seq ?? afterSeq);
      return {
        changes: page,
        lastSeq,
        endSeq,
        resumeSeq: endSeq,
        gap: afterSeq < lastSeq && oldestSeq > afterSeq + 1,
      };
    },
    changeToken: () => writes,
    events: async (afterSeq, limit) => events.filter(({ seq }) => seq > afterSeq).slice(0, limit),
    async removeEvents(seqs) {
      events = events.filter(({ seq }) => !seqs.includes(seq));
    },

    async purgeExpired(expiredBefore, limit) {
      const expired = [...rows.values()]
        .filter(({ link }) => link.expiresAt !== null && link.expiresAt < expiredBefore)
        .slice(0, limit);
      for (const row of expired) {
        const { link } = row;
        if (link.origin === 'generated' && row.isProtected) rows.delete(link.code);
        else row.link = { ...tombstoneOf(link), version: link.version + 1 };
      }
      return expired.length;
    },
    async prune({ answersBefore, changesBefore }, limit) {
      const oldAnswers = [...answers]
        .filter(([, { createdAt }]) => createdAt < answersBefore)
        .slice(0, limit);
      for (const [key] of oldAnswers) answers.delete(key);
      const oldChanges = changes.filter(({ at }) => at < changesBefore).slice(0, limit);
      changes = changes.slice(oldChanges.length);
      return oldAnswers.length + oldChanges.length;
    },
    async installationSecret(candidate) {
      secret ??= candidate;
      return secret;
    },
    async close() {},
  };
}
