/**
 * All that was ever counted of a scope, added up. Lists show it of hundreds of links at once, so it cannot be added up
 * from days. Totals are kept like clicks: each merge of clicks writes what it has newly added up as a run of its own,
 * sorted, and such runs are merged in turn. What is in runs of clicks that are not in the totals yet is counted there.
 */
import type { Database } from 'bun:sqlite';
import type { ScopeTotal } from '../../warehouse.ts';
import { compareLinks, hashOf, type LinkKey } from './chunk.ts';
import { packText, unpackText } from './columns.ts';

/** Runs of totals have no day. */
export const totalsDay = -1;
const entriesMax = 4_096;

export interface TotalSums {
  clicks: number;
  bots: number;
  suspicious: number;
  /** 0 for never. */
  lastAt: number;
}

export const noSums = (): TotalSums => ({ clicks: 0, bots: 0, suspicious: 0, lastAt: 0 });

export function addSums(into: TotalSums, more: Readonly<TotalSums>): void {
  into.clicks += more.clicks;
  into.bots += more.bots;
  into.suspicious += more.suspicious;
  into.lastAt = Math.max(into.lastAt, more.lastAt);
}

export const totalOf = ({ clicks, bots, suspicious, lastAt }: TotalSums): ScopeTotal => ({
  clicks,
  bots,
  suspicious,
  lastClickAt: lastAt === 0 ? null : lastAt,
});

/** Owners and tags stand among the links of the owner, under names that no code has. */
export const ownerKey = (owner: string): LinkKey => keyOf(owner, ':');
export const tagKey = (owner: string, tag: string): LinkKey =>
  keyOf(owner, `:${encodeURIComponent(tag.toWellFormed())}`);
/** Behind all links of the owner. */
const scopeHash = 2 ** 32;
export const keyOf = (owner: string, code: string): LinkKey => ({
  owner,
  hash: code.startsWith(':') ? scopeHash : hashOf(code),
  code,
});
export const isLinkKey = ({ code }: LinkKey): boolean => !code.startsWith(':');

export interface TotalsEntry {
  readonly key: LinkKey;
  readonly sums: TotalSums;
}

/** Entries must come in order; those of one scope are added up. */
export class TotalsWriter {
  readonly #database: Database;
  readonly #run: number;
  #entries: TotalsEntry[] = [];

  constructor(database: Database, run: number) {
    this.#database = database;
    this.#run = run;
  }

  append(entry: TotalsEntry): void {
    const last = this.#entries[this.#entries.length - 1];
    if (last !== undefined && compareLinks(last.key, entry.key) === 0) {
      addSums(last.sums, entry.sums);
      return;
    }
    if (this.#entries.length === entriesMax) this.flush();
    this.#entries.push(entry);
  }

  flush(): void {
    const [first] = this.#entries;
    if (first === undefined) return;
    this.#database
      .query('INSERT INTO totals (run, owner, hash, entries) VALUES (?, ?, ?, ?)')
      .run(this.#run, first.key.owner, first.key.hash, packEntries(this.#entries));
    this.#entries = [];
  }
}

function packEntries(entries: readonly TotalsEntry[]): Uint8Array {
  const lines: string[] = [];
  let owner: string | undefined;
  for (const { key, sums } of entries) {
    if (key.owner !== owner) lines.push(`\n${key.owner}`);
    owner = key.owner;
    const { clicks, bots, suspicious, lastAt } = sums;
    const rest = bots === 0 && suspicious === 0 ? '' : `,${bots.toString(36)},${suspicious.toString(36)}`;
    lines.push(`\t${key.code} ${clicks.toString(36)},${lastAt.toString(36)}${rest}`);
  }
  return packText(lines.join('').slice(1));
}

function* entriesIn(bytes: Uint8Array): Generator<TotalsEntry> {
  for (const line of unpackText(bytes).split('\n')) {
    const [owner, ...fields] = line.split('\t');
    for (const field of fields) yield entryIn(owner!, field);
  }
}

function entryIn(owner: string, field: string): TotalsEntry {
  const space = field.lastIndexOf(' ');
  return { key: keyOf(owner, field.slice(0, space)), sums: sumsIn(field.slice(space + 1)) };
}

function sumsIn(text: string): TotalSums {
  const [clicks, lastAt, bots = 0, suspicious = 0] = text
    .split(',')
    .map(number => Number.parseInt(number, 36));
  return { clicks: clicks!, lastAt: lastAt!, bots, suspicious };
}

/** Entries of a run in order, read as they are needed. */
export function* readTotals(database: Database, run: number, owner?: string): Generator<TotalsEntry> {
  const rows = database
    .query<{ id: number; owner: string }, [number, number]>(
      'SELECT id, owner FROM totals WHERE run = ? AND id >= ? ORDER BY id',
    )
    .all(run, owner === undefined ? 0 : startOf(database, run, owner, -1));
  const read = database.query<{ entries: Uint8Array }, [number]>('SELECT entries FROM totals WHERE id = ?');
  for (const { id, owner: first } of rows) {
    if (owner !== undefined && first > owner) return;
    for (const entry of entriesIn(read.get(id)!.entries))
      if (owner === undefined || entry.key.owner === owner) yield entry;
  }
}

/** The row in which a key lies, if it is in the run at all. */
function startOf(database: Database, run: number, owner: string, hash: number): number {
  const found = database
    .query<{ id: number }, [number, string, number]>(
      `SELECT id FROM totals WHERE run = ? AND (owner, hash) < (?, ?) ORDER BY owner DESC, hash DESC, id DESC LIMIT 1`,
    )
    .get(run, owner, hash);
  return found?.id ?? 0;
}

/** What a run of totals says of a scope. */
export function findTotal(database: Database, run: number, key: LinkKey): TotalSums | undefined {
  const rows = database.query<{ entries: Uint8Array }, [number, number, string, number]>(
    'SELECT entries FROM totals WHERE run = ? AND id >= ? AND (owner, hash) <= (?, ?) ORDER BY id',
  );
  for (const { entries } of rows.iterate(
    run,
    startOf(database, run, key.owner, key.hash),
    key.owner,
    key.hash,
  )) {
    const text = unpackText(entries);
    const line = text.startsWith(`${key.owner}\t`) ? 0 : text.indexOf(`\n${key.owner}\t`);
    if (line === -1) continue;
    const end = text.indexOf('\n', line + 1);
    const at = text.indexOf(`\t${key.code} `, line);
    if (at === -1 || (end !== -1 && at > end)) continue;
    const from = at + key.code.length + 2;
    const stop = text.slice(from).search(/[\t\n]/);
    return sumsIn(stop === -1 ? text.slice(from) : text.slice(from, from + stop));
  }
  return undefined;
}

/** Entries of several runs as one, added up where they are of the same scope. */
export function* mergeTotals(sources: readonly Iterator<TotalsEntry>[]): Generator<TotalsEntry> {
  const heads = sources.map(source => ({ source, entry: source.next().value as TotalsEntry | undefined }));
  for (;;) {
    let least: TotalsEntry | undefined;
    for (const { entry } of heads)
      if (entry !== undefined && (least === undefined || compareLinks(entry.key, least.key) < 0))
        least = entry;
    if (least === undefined) return;
    const sums = noSums();
    for (const head of heads) {
      if (head.entry === undefined || compareLinks(head.entry.key, least.key) !== 0) continue;
      addSums(sums, head.entry.sums);
      head.entry = head.source.next().value as TotalsEntry | undefined;
    }
    yield { key: least.key, sums };
  }
}
