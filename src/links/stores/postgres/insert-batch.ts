/**
 * One transaction's worth of items with options: not to be made when the same exists, to be remembered under a key, to
 * claim an id, to leave an audit entry. The outcome is what inserting one item after the other would give, and takes a
 * handful of statements for all of them:
 *
 * 1. Locks, so that no other process answers the same key, finds or makes the same URL, or leases a claimed id.
 * 2. What is there already: answers, links to the same URLs, leased spans and claims.
 * 3. Rounds. Items that have to do with an item before them wait until that one's outcome is known, and then mostly
 *    need no statement any more; the others are written together. One round is the rule.
 * 4. What they leave behind; the change feed last.
 */
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import { writeRecords } from '../../../records/drivers/postgres.ts';
import type { RecordWrite } from '../../../records/record-store.ts';
import { isLeased } from '../../leased-spans.ts';
import { isSameLink, type Link, stateOf } from '../../link.ts';
import type { Claim, IdempotencyRecord, InsertOutcome, LeasedSpan, RememberedAnswer } from '../../store.ts';
import type { RecordedInsert } from '../../trace.ts';
import { guardsCode, insertedColumns, type LinkRow, linkOf, rowOf, urlHash } from '../rows.ts';
import { type ChangeNote, noteChanges } from './feed.ts';
import { answerName, findByUrls, type KeptAnswer, keepAnswers, readAnswers, stillValid } from './lookups.ts';
import { addClaims, claimName, holdMarks, lockAnswers, lockUrls, readClaims, readSpans } from './ranges.ts';
import { linkColumns, rowDefinition } from './schema.ts';

type Answer = IdempotencyRecord & KeptAnswer;

/** An item on its way to its outcome. */
interface Entry {
  readonly item: RecordedInsert;
  /** Drawn when items are not written in their order. */
  id: number | undefined;
  /** The live link to its URL that was there before, for an item that wants one. */
  existing: Link | undefined;
  outcome: InsertOutcome | undefined;
}

export class InsertBatch {
  readonly #tx: PostgresTransaction;
  readonly #entries: readonly Entry[];

  /** What is there, as far as these items are concerned, and what they have added to it so far. */
  #answers = new Map<string, KeptAnswer>();
  #spans = new Map<number, LeasedSpan[]>();
  #claims = new Set<string>();
  readonly #addedByUrl = new Map<string, Link[]>();
  /** Codes that are taken, each with its link where an item may need it. */
  readonly #holders = new Map<string, Link | undefined>();

  readonly #newAnswers = new Map<string, Answer>();
  readonly #notes: ChangeNote[] = [];
  readonly #records: RecordWrite[] = [];

  constructor(tx: PostgresTransaction, items: readonly RecordedInsert[]) {
    this.#tx = tx;
    this.#entries = items.map(item => ({ item, id: undefined, existing: undefined, outcome: undefined }));
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

  /** Settles the items whose outcome is known; returns those that have to be written first. */
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

  #taken(item: RecordedInsert): InsertOutcome {
    const holder = item.existing === 'same-code' ? this.#holders.get(item.link.code) : undefined;
    if (holder !== undefined && isSameLink(holder, item.link)) return this.#foundInstead(item, holder);
    return { kind: 'taken' };
  }

  #foundInstead({ idempotency }: RecordedInsert, link: Link): InsertOutcome {
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

  #noteInserted({ link, leased, claim, idempotency, records, event: type }: RecordedInsert): void {
    this.#holders.set(link.code, link);
    if (claim !== undefined) this.#claims.add(claimName(claim));
    const sameUrl = this.#addedByUrl.get(urlName(link));
    if (sameUrl === undefined) this.#addedByUrl.set(urlName(link), [link]);
    else sameUrl.push(link);
    // Other processes learn of leased codes by the mark; anything else may be cached as missing somewhere.
    const event = type && { type, link };
    if (!leased || event) this.#notes.push({ at: link.createdAt, code: link.code, claim, event });
    if (records !== undefined) this.#records.push(...records);
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
    await writeRecords(this.#tx, this.#records, this.#entries[0]!.item.link.createdAt);
    await noteChanges(this.#tx, this.#notes);
  }
}

const urlName = ({ ownerId, longUrl }: Link): string => JSON.stringify([ownerId, longUrl]);
const offer = (link: Link): string => `offer ${urlName(link)}`;
const wish = (link: Link): string => `wish ${urlName(link)}`;

/** What is settled once the outcome of the item is known. Every link is offered to items that look for its URL. */
function decidesAbout(item: RecordedInsert): string[] {
  const { link, existing } = item;
  return [...ownNames(item), offer(link), ...(existing === 'same-url' ? [wish(link)] : [])];
}

/** An item that looks for a URL waits for earlier items that may be offered to it; later ones are not offered. */
function dependsOn(item: RecordedInsert): string[] {
  const { link, existing } = item;
  return [...ownNames(item), wish(link), ...(existing === 'same-url' ? [offer(link)] : [])];
}

function ownNames({ link, claim, idempotency }: RecordedInsert): string[] {
  const names = [`code ${link.code}`];
  if (claim !== undefined) names.push(`claim ${claimName(claim)}`);
  if (idempotency !== undefined) names.push(`key ${answerName(idempotency)}`);
  return names;
}

const columns = insertedColumns.join(', ');

/**
 * Ids are drawn in the order of the items, for lists are in the order of creation; rows are written in the order of
 * their codes, so that two processes that write the same codes wait for each other one way round only.
 */
const statement = `
  WITH given AS MATERIALIZED (
    SELECT coalesce(item.drawn_id, nextval('link_ids')) AS id, item.*
    FROM json_to_recordset($1::json) AS item(drawn_id int8, ${rowDefinition})
  ), added AS (
    INSERT INTO links (id, ${columns}) SELECT id, ${columns} FROM given ORDER BY code COLLATE "C", id
    ON CONFLICT (code) DO NOTHING RETURNING code, id, owner, tags
  ), tagged AS (
    INSERT INTO link_tags (owner, tag, link_id)
    SELECT owner, tag, id FROM added, json_array_elements_text(tags::json) AS tag
    ON CONFLICT DO NOTHING
  )
  SELECT code FROM added`;

export interface NewRow {
  readonly item: RecordedInsert;
  /** Undefined for the next one. */
  readonly id?: number | undefined;
}

/** Writes rows and their tags, never over what is there. The codes that were written; of rows that share a code the first has it. */
export async function insertRows(
  query: PostgresTransaction['query'],
  newRows: readonly NewRow[],
  deadlineMs?: number,
): Promise<Set<string>> {
  if (newRows.length === 0) return new Set();
  const rows = newRows.map(({ item: { link, leased, claim }, id }) => ({
    ...rowOf(link),
    drawn_id: id,
    guards_code: guardsCode(leased || claim !== undefined),
  }));
  const added = await query<{ code: string }>(statement, [JSON.stringify(rows)], {
    name: 'insert-links',
    ...(deadlineMs !== undefined && { deadlineMs }),
  });
  return new Set(added.map(({ code }) => code));
}

/** Ids for links that are written later, but in the order of these. */
async function drawIds(tx: PostgresTransaction, count: number): Promise<number[]> {
  const text = "SELECT nextval('link_ids') AS id FROM generate_series(1, $1)";
  return (await tx.query<{ id: number }>(text, [count])).map(({ id }) => id);
}
