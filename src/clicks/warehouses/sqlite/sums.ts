/** Adds up clicks that come in order, for each link and, behind its links, for each owner and its tags. */
import { isHuman, type LinkKey, type Rows, tagsIn } from './chunk.ts';
import { readMinutes, type SummaryRow } from './summary.ts';
import { addSums, noSums, ownerKey, type TotalSums, type TotalsEntry, tagKey } from './totals.ts';

export class SumsOfScopes {
  readonly #day: number;
  readonly #emit: (entry: TotalsEntry) => void;
  #key: LinkKey | undefined;
  #link = noSums();
  #owner = noSums();
  #tags = new Map<string, TotalSums>();

  constructor(day: number, emit: (entry: TotalsEntry) => void) {
    this.#day = day;
    this.#emit = emit;
  }

  /** Summaries of the link or of the owner may have some clicks already; tags have them from here alone. */
  add(
    key: LinkKey,
    rows: Rows,
    from: number,
    to: number,
    { isOfLink, isOfOwner }: { readonly isOfLink: boolean; readonly isOfOwner: boolean },
  ): void {
    this.#goTo(key);
    const sums = sumsIn(rows, from, to, this.#day);
    if (isOfLink) addSums(this.#link, sums);
    if (key.owner === '') return;
    if (isOfOwner) addSums(this.#owner, sums);
    if (!hasTags(rows)) return;
    for (const { tags, first, end } of tagSpans(rows, from, to)) {
      const ofSpan = sumsIn(rows, first, end, this.#day);
      for (const tag of tags) addSums(this.#tag(tag), ofSpan);
    }
  }

  addSummary(key: LinkKey, summary: SummaryRow): void {
    this.#goTo(key);
    addSums(this.#link, sumsOf(summary, this.#day));
  }

  addOwner(owner: string, summary: SummaryRow): void {
    if (this.#key?.owner !== owner) this.#goTo({ owner, hash: -1, code: '' });
    addSums(this.#owner, sumsOf(summary, this.#day));
  }

  finish(): void {
    this.endLink();
    this.#endOwner();
  }

  #goTo(key: LinkKey): void {
    const before = this.#key;
    if (before !== undefined && before.code === key.code && before.owner === key.owner) return;
    this.endLink();
    if (before !== undefined && before.owner !== key.owner) this.#endOwner();
    this.#key = key;
  }

  /** Emits what was added of the link so far; more of it may follow. */
  endLink(): void {
    if (this.#key === undefined || isNothing(this.#link)) return;
    this.#emit({ key: this.#key, sums: this.#link });
    this.#link = noSums();
  }

  #endOwner(): void {
    const owner = this.#key?.owner ?? '';
    if (isNothing(this.#owner) && this.#tags.size === 0) return;
    this.#emit({ key: ownerKey(owner), sums: this.#owner });
    const tags = [...this.#tags].map(([tag, sums]) => ({ key: tagKey(owner, tag), sums }));
    for (const entry of tags.sort((a, b) => (a.key.code < b.key.code ? -1 : 1))) this.#emit(entry);
    this.#owner = noSums();
    this.#tags = new Map();
  }

  #tag(tag: string): TotalSums {
    const known = this.#tags.get(tag);
    if (known !== undefined) return known;
    const fresh = noSums();
    this.#tags.set(tag, fresh);
    return fresh;
  }
}

const isNothing = ({ clicks, bots }: TotalSums): boolean => clicks + bots === 0;

export function sumsIn(rows: Pick<Rows, 'at' | 'kind'>, from: number, to: number, day: number): TotalSums {
  const { at, kind } = rows;
  let [clicks, suspicious, last] = [0, 0, 0];
  for (let index = from; index < to; index += 1) {
    const byte = kind[index]!;
    if (at[index]! > last) last = at[index]!;
    if (!isHuman(byte)) continue;
    clicks += 1;
    if (byte !== 0) suspicious += 1;
  }
  return { clicks, bots: to - from - clicks, suspicious, lastAt: to > from ? day + last : 0 };
}

export function sumsOf(summary: Pick<SummaryRow, 'minutes'>, day: number): TotalSums {
  const { last, minutes } = readMinutes(summary);
  const sums = { ...noSums(), lastAt: day + last };
  for (let index = 0; index < minutes.length; index += 4) {
    sums.clicks += minutes[index + 1]!;
    sums.bots += minutes[index + 2]!;
    sums.suspicious += minutes[index + 3]!;
  }
  return sums;
}

const hasTags = ({ lists: { tags } }: Rows): boolean => tags.length > 1 || tags[0] !== '';

/** Neighbouring clicks with the same tags, those without any left out. */
export function* tagSpans(
  rows: Rows,
  from: number,
  to: number,
): Generator<{ readonly tags: readonly string[]; readonly first: number; readonly end: number }> {
  const [column, entries] = [rows.codes.tags, rows.lists.tags];
  if (!hasTags(rows)) return;
  for (let first = from; first < to; ) {
    const code = column[first]!;
    let end = first + 1;
    while (end < to && column[end] === code) end += 1;
    if (entries[code] !== '') yield { tags: tagsIn(entries[code]!), first, end };
    first = end;
  }
}
