/**
 * Links in memory: the port in its plainest form, for tests and for trying Terse out. It keeps the same
 * promises as the engines, except that nothing outlives the process.
 */

import { leadsTo } from '../host-match.ts';
import { isLeased, nextRange } from '../leased-spans.ts';
import { type Link, type LinkStatus, stateOf } from '../link.ts';
import { isListed } from '../list-match.ts';
import { isSameLink } from '../same-link.ts';
import type {
  Change,
  IdempotencyRecord,
  InsertItem,
  InsertOutcome,
  LeasedSpan,
  LinkStore,
  ListPage,
  ListQuery,
  RememberedAnswer,
} from '../store.ts';
import type { LinkTrace } from '../trace.ts';
import { cursorOf, rowIdOf } from './row-cursor.ts';

/** A visitor may go on to a quarantined link, and then it counts. */
const followable: ReadonlySet<LinkStatus> = new Set(['active', 'quarantined']);

interface Row {
  readonly id: number;
  /** Whether a lease or a claim keeps the code from being given again once the row is gone. */
  readonly isProtected: boolean;
  link: Link;
}

/** `keepTrace` gets what a write leaves beside the link. */
export function createMemoryStore(keepTrace: (trace: LinkTrace) => void = () => undefined): LinkStore {
  const rows = new Map<string, Row>();
  const spans = new Map<number, LeasedSpan[]>();
  const claims = new Map<number, Set<number>>();
  const answers = new Map<string, IdempotencyRecord & RememberedAnswer>();
  let changes: (Change & { readonly at: number })[] = [];
  let lastRowId = 0;
  let lastSeq = 0;
  let writes = 0;
  let secret: Uint8Array | undefined;

  const claimsOf = (length: number): Set<number> => {
    const existing = claims.get(length) ?? new Set();
    claims.set(length, existing);
    return existing;
  };
  const noteChange = (at: number, code: string, claim: Change['claim']): void => {
    lastSeq += 1;
    changes.push({ seq: lastSeq, at, code, claim });
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

  const existingLink = ({ link, existing }: InsertItem): Link | undefined => {
    if (existing === 'same-url') return findByUrl(link.ownerId, link.longUrl, link.createdAt);
    const found = existing === 'same-code' ? rows.get(link.code)?.link : undefined;
    return found !== undefined && isSameLink(found, link) ? found : undefined;
  };

  const insertOne = (item: InsertItem): InsertOutcome => {
    const { link, leased, claim, idempotency, trace } = item;
    const earlier = idempotency && recall(idempotency);
    if (earlier !== undefined) return { kind: 'replayed', ...earlier };
    const found = existingLink(item);
    if (found !== undefined) {
      remember(idempotency, 'found', found);
      return { kind: 'found', link: found };
    }
    if (rows.has(link.code)) return { kind: 'taken' };
    if (claim !== undefined) {
      const claimed = claimsOf(claim.length);
      if (isLeased(spans.get(claim.length) ?? [], claim.id) || claimed.has(claim.id))
        return { kind: 'taken' };
      claimed.add(claim.id);
    }
    lastRowId += 1;
    rows.set(link.code, { id: lastRowId, link, isProtected: leased || claim !== undefined });
    if (!leased) noteChange(link.createdAt, link.code, claim);
    remember(idempotency, 'created', link);
    if (trace !== undefined) keepTrace(trace);
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
      return items.map(insertOne);
    },
    async replace(link, trace) {
      writes += 1;
      const row = rows.get(link.code);
      if (row === undefined) return 'missing';
      if (row.link.version !== link.version - 1) return 'conflict';
      row.link = { ...link, usedClicks: row.link.usedClicks };
      noteChange(link.updatedAt, link.code, undefined);
      if (trace !== undefined) keepTrace(trace);
      return 'replaced';
    },
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
      return {
        changes: page,
        lastSeq,
        resumeSeq: page.length < limit ? lastSeq : (page.at(-1)?.seq ?? afterSeq),
        gap: afterSeq < lastSeq && oldestSeq > afterSeq + 1,
      };
    },
    changeToken: () => writes,

    async purgeExpired(expiredBefore, limit) {
      const expired = [...rows.values()]
        .filter(({ link }) => link.expiresAt !== null && link.expiresAt < expiredBefore)
        .slice(0, limit);
      for (const row of expired) {
        const { link } = row;
        if (link.origin === 'generated' && row.isProtected) rows.delete(link.code);
        else
          row.link = {
            ...link,
            longUrl: '',
            status: 'deleted',
            title: null,
            tags: [],
            risk: null,
            expiresAt: null,
            version: link.version + 1,
          };
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
