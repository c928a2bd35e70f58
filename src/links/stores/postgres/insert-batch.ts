/**
 * One transaction's worth of items with wishes: not to be made when the same is there, to be remembered under a key, to
 * claim an id, to leave a trace. The outcome is what inserting one item after the other would give, and takes a handful
 * of statements for all of them:
 *
 * 1. Locks, so that no other process answers the same key, finds or makes the same URL, or leases a claimed id.
 * 2. What is there already: answers, links to the same URLs, leased spans and claims.
 * 3. Rounds. Items that have to do with an item before them wait until that one's outcome is known, and then mostly
 *    need no statement any more; the others are written together. One round is the rule.
 * 4. What they leave behind; the change feed last.
 */
import { appendAudit } from '../../../engines/postgres/audit-table.ts';
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import { isLeased } from '../../leased-spans.ts';
import { type Link, stateOf } from '../../link.ts';
import { isSameLink } from '../../same-link.ts';
import type {
  Claim,
  IdempotencyRecord,
  InsertItem,
  InsertOutcome,
  LeasedSpan,
  RememberedAnswer,
} from '../../store.ts';
import type { LinkTrace, ReviewNote } from '../../trace.ts';
import { type LinkRow, linkOf, urlHash } from '../rows.ts';
import { answerName, type KeptAnswer, keepAnswers, readAnswers, stillValid } from './answers.ts';
import { linkColumns } from './columns.ts';
import { type ChangeNote, noteChanges } from './feed.ts';
import { findByUrls } from './find-by-url.ts';
import { drawIds, insertRows } from './insert-rows.ts';
import { holdMarks, lockAnswers, lockUrls } from './locks.ts';
import { addClaims, claimName, readClaims, readSpans } from './ranges.ts';

/** Moderation's part of a write: it runs in the same transaction. */
export type KeepReviews = (tx: PostgresTransaction, notes: readonly ReviewNote[]) => Promise<void>;

type Answer = IdempotencyRecord & KeptAnswer;

/** An item on its way to its outcome. */
interface Entry {
  readonly item: InsertItem;
  /** Drawn when items are not written in their order. */
  id: number | undefined;
  /** The live link to its URL that was there before, for an item that wants one. */
  existing: Link | undefined;
  outcome: InsertOutcome | undefined;
}

export class InsertBatch {
  readonly #tx: PostgresTransaction;
  readonly #entries: readonly Entry[];
  readonly #keepReviews: KeepReviews;

  /** What is there, as far as these items are concerned, and what they have added to it so far. */
  #answers = new Map<string, KeptAnswer>();
  #spans = new Map<number, LeasedSpan[]>();
  #claims = new Set<string>();
  readonly #addedByUrl = new Map<string, Link[]>();
  /** Codes that are taken, each with its link where someone may want to know. */
  readonly #holders = new Map<string, Link | undefined>();

  readonly #newAnswers = new Map<string, Answer>();
  readonly #notes: ChangeNote[] = [];
  readonly #traces: LinkTrace[] = [];

  constructor(tx: PostgresTransaction, items: readonly InsertItem[], keepReviews: KeepReviews) {
    this.#tx = tx;
    this.#entries = items.map(item => ({ item, id: undefined, existing: undefined, outcome: undefined }));
    this.#keepReviews = keepReviews;
  }

  async run(): Promise<InsertOutcome[]> {
    await this.#lock();
    await this.#look();
    let round = this.#nextRound();
    if (round.length < this.#undecided().length) await this.#drawIds();
    for (; round.length > 0; round = this.#nextRound()) await this.#write(round);
    await this.#leaveBehind();
    return this.#entries.map(({ outcome }) => outcome!);
  }

  #undecided(): Entry[] {
    return this.#entries.filter(({ outcome }) => outcome === undefined);
  }

  async #drawIds(): Promise<void> {
    const entries = this.#undecided();
    const ids = await drawIds(this.#tx, entries.length);
    for (const [index, entry] of entries.entries()) entry.id = ids[index];
  }

  async #lock(): Promise<void> {
    const hashes = this.#recordsOf().map(({ ownerId, key }) => urlHash(ownerId, key));
    await lockAnswers(this.#tx, hashes);
    const wanted = this.#entriesThatFind().map(({ item }) => urlHash(item.link.ownerId, item.link.longUrl));
    await lockUrls(this.#tx, wanted);
    const lengths = this.#claimsOf().map(({ length }) => length);
    await holdMarks(this.#tx, lengths);
  }

  async #look(): Promise<void> {
    const { query } = this.#tx;
    this.#answers = await readAnswers(query, this.#recordsOf());
    this.#spans = await readSpans(query, this.#claimsOf());
    this.#claims = await readClaims(query, this.#claimsOf());
    const finding = this.#entriesThatFind();
    const wanted = finding.map(({ item: { link } }) => ({ ...link, now: link.createdAt }));
    const found = await findByUrls(query, wanted);
    for (const [index, entry] of finding.entries()) entry.existing = found[index];
  }

  #recordsOf(): IdempotencyRecord[] {
    return this.#entries.flatMap(({ item }) => item.idempotency ?? []);
  }

  #claimsOf(): Claim[] {
    return this.#entries.flatMap(({ item }) => item.claim ?? []);
  }

  #entriesThatFind(): Entry[] {
    return this.#entries.filter(({ item }) => item.existing === 'same-url');
  }

  /** Settles what can be settled by what is known; returns what has to be written to know more. */
  #nextRound(): Entry[] {
    const round: Entry[] = [];
    const undecided = new Set<string>();
    for (const entry of this.#entries) {
      if (entry.outcome !== undefined) continue;
      const mustWait = dependsOn(entry.item).some(name => undecided.has(name));
      if (!mustWait) entry.outcome = this.#knownOutcome(entry);
      if (entry.outcome !== undefined) continue;
      if (!mustWait) round.push(entry);
      for (const name of decidesAbout(entry.item)) undecided.add(name);
    }
    return round;
  }

  #knownOutcome(entry: Entry): InsertOutcome | undefined {
    const { link, idempotency } = entry.item;
    const earlier = idempotency && stillValid(this.#answers.get(answerName(idempotency)), idempotency);
    if (earlier !== undefined) return { kind: 'replayed', ...earlier };
    const found = this.#sameUrl(entry);
    if (found !== undefined) return this.#foundInstead(entry.item, found);
    return this.#holders.has(link.code) ? this.#taken(entry.item) : undefined;
  }

  #sameUrl({ item: { link, existing }, existing: before }: Entry): Link | undefined {
    if (existing !== 'same-url') return undefined;
    const added = this.#addedByUrl.get(urlName(link));
    return added?.findLast(other => stateOf(other, link.createdAt) === 'active') ?? before;
  }

  #taken(item: InsertItem): InsertOutcome {
    const holder = item.existing === 'same-code' ? this.#holders.get(item.link.code) : undefined;
    if (holder !== undefined && isSameLink(holder, item.link)) return this.#foundInstead(item, holder);
    return { kind: 'taken' };
  }

  #foundInstead({ idempotency }: InsertItem, link: Link): InsertOutcome {
    this.#remember(idempotency, 'found', link);
    return { kind: 'found', link };
  }

  async #write(round: readonly Entry[]): Promise<void> {
    const free = round.filter(({ item }) => item.claim === undefined || this.#isFree(item.claim));
    const added = await insertRows(this.#tx.query, free);
    // Only these codes are known to have a row. One whose claim is refused may still be written by its lessee.
    for (const { item } of free) this.#holders.set(item.link.code, undefined);
    const inserted = free.filter(({ item }) => added.has(item.link.code));
    const claims = inserted.flatMap(({ item }) => item.claim ?? []);
    await addClaims(this.#tx, claims);
    for (const entry of inserted) {
      entry.outcome = { kind: 'inserted' };
      this.#noteInserted(entry.item);
    }
    const taken = round.filter(({ outcome }) => outcome === undefined);
    await this.#lookForHolders(taken);
    for (const entry of taken) entry.outcome = this.#taken(entry.item);
  }

  #isFree(claim: Claim): boolean {
    return !isLeased(this.#spans.get(claim.length) ?? [], claim.id) && !this.#claims.has(claimName(claim));
  }

  #noteInserted({ link, leased, claim, idempotency, trace }: InsertItem): void {
    this.#holders.set(link.code, link);
    if (claim !== undefined) this.#claims.add(claimName(claim));
    const sameUrl = this.#addedByUrl.get(urlName(link));
    if (sameUrl === undefined) this.#addedByUrl.set(urlName(link), [link]);
    else sameUrl.push(link);
    // Other processes learn of leased codes by the mark; anything else may be cached as missing somewhere.
    if (!leased) this.#notes.push({ at: link.createdAt, code: link.code, claim });
    if (trace !== undefined) this.#traces.push(trace);
    this.#remember(idempotency, 'created', link);
  }

  async #lookForHolders(taken: readonly Entry[]): Promise<void> {
    const codes = taken.map(({ item }) => item.link.code);
    if (codes.length === 0 || this.#entries.every(({ item }) => item.existing !== 'same-code')) return;
    const text = `SELECT ${linkColumns} FROM links WHERE code = ANY($1)`;
    for (const row of await this.#tx.query<LinkRow>(text, [codes])) this.#holders.set(row.code, linkOf(row));
  }

  #remember(record: IdempotencyRecord | undefined, outcome: RememberedAnswer['outcome'], link: Link): void {
    if (record === undefined) return;
    const answer = { ...record, outcome, link };
    this.#answers.set(answerName(record), answer);
    this.#newAnswers.set(answerName(record), answer);
  }

  async #leaveBehind(): Promise<void> {
    await keepAnswers(this.#tx, [...this.#newAnswers.values()]);
    await appendAudit(
      this.#tx,
      this.#traces.map(({ audit }) => audit),
    );
    const reviews = this.#traces.flatMap(({ review }) => review ?? []);
    if (reviews.length > 0) await this.#keepReviews(this.#tx, reviews);
    await noteChanges(this.#tx, this.#notes);
  }
}

const urlName = ({ ownerId, longUrl }: Link): string => JSON.stringify([ownerId, longUrl]);
const offer = (link: Link): string => `offer ${urlName(link)}`;
const wish = (link: Link): string => `wish ${urlName(link)}`;

/** What is settled only once the outcome of the item is known. Every link is an offer to those who look for its URL. */
function decidesAbout(item: InsertItem): string[] {
  const { link, existing } = item;
  return [...ownNames(item), offer(link), ...(existing === 'same-url' ? [wish(link)] : [])];
}

/** Who looks for a URL waits for what may be offered to it, and what comes later is not offered to it. */
function dependsOn(item: InsertItem): string[] {
  const { link, existing } = item;
  return [...ownNames(item), wish(link), ...(existing === 'same-url' ? [offer(link)] : [])];
}

function ownNames({ link, claim, idempotency }: InsertItem): string[] {
  const names = [`code ${link.code}`];
  if (claim !== undefined) names.push(`claim ${claimName(claim)}`);
  if (idempotency !== undefined) names.push(`key ${answerName(idempotency)}`);
  return names;
}
