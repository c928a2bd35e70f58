/**
 * Links for the click thread, each described once. They are sent as columns, because an object per link takes many
 * times as long to cross between threads as the rest of its click.
 */
import type { LinkEntry } from './click.ts';
import type { PackedTexts } from './packed-texts.ts';
import { boundedText } from './steps/bounded-text.ts';

/** The maximum length of a query that is kept. */
export const queryLengthMax = 1_024;
const [linksAtFirst, codeBytesAtFirst] = [1_024, 8_192];

/** A link, and its destination if that is known: campaigns may be named there. */
export type DescribedLink = LinkEntry & { readonly longUrl?: string };

export interface NewLinks {
  /** Codes are ASCII. */
  readonly codes: PackedTexts;
  /** The number of each link's owner, and of its labels; 0 for none. */
  readonly owners: Uint32Array;
  /** Empty when no link has any. */
  readonly labels: Uint32Array;
  readonly newOwners: readonly string[];
  /** `LinkLabels` as JSON. */
  readonly newLabels: readonly string[];
}

export interface LinkLabels {
  readonly tags: readonly string[];
  /** The destination's query, if it names a campaign; otherwise empty. */
  readonly query: string;
}

/** Links that the click thread does not know yet. Filled on the redirect's thread, so it only copies bytes. */
export class NewLinkList {
  /** Unbounded: there are no more of them than links, and no click may lose its owner. */
  readonly #owners = new Interner(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  readonly #labels = new Interner(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  #codes = new Uint8Array(codeBytesAtFirst);
  #codeBytes = 0;
  #lengths = new Uint8Array(linksAtFirst);
  #ownerNumbers = new Uint32Array(linksAtFirst);
  #labelNumbers = new Uint32Array(linksAtFirst);
  #count = 0;
  #hasLabels = false;

  get count(): number {
    return this.#count;
  }

  add({ code, ownerId, tags, longUrl }: DescribedLink): void {
    const index = this.#count;
    if (index === this.#lengths.length) this.#grow();
    this.#addCode(code);
    this.#lengths[index] = code.length;
    this.#ownerNumbers[index] = ownerId === null ? 0 : this.#owners.numberOf(ownerId);
    const query = longUrl?.includes('utm_') ? queryIn(longUrl) : '';
    this.#labelNumbers[index] = tags.length === 0 && query === '' ? 0 : this.#labelNumber({ tags, query });
    this.#count += 1;
  }

  take(): NewLinks {
    const count = this.#count;
    const taken = {
      codes: { lengths: this.#lengths.slice(0, count), bytes: this.#codes.slice(0, this.#codeBytes) },
      owners: this.#ownerNumbers.slice(0, count),
      labels: this.#labelNumbers.slice(0, this.#hasLabels ? count : 0),
      newOwners: this.#owners.takeFresh(),
      newLabels: this.#labels.takeFresh(),
    };
    this.#forgetFresh();
    return taken;
  }

  clear(): void {
    this.#forgetFresh();
    this.#owners.clear();
    this.#labels.clear();
  }

  #labelNumber(labels: LinkLabels): number {
    this.#hasLabels = true;
    return this.#labels.numberOf(JSON.stringify(labels));
  }

  /** Character by character, which is faster than an encoder for short codes. */
  #addCode(code: string): void {
    const from = this.#codeBytes;
    if (from + code.length > this.#codes.length)
      this.#codes = copied(this.#codes, new Uint8Array(2 * this.#codes.length + code.length));
    const codes = this.#codes;
    for (let index = 0; index < code.length; index += 1) codes[from + index] = code.charCodeAt(index);
    this.#codeBytes += code.length;
  }

  #grow(): void {
    const length = 2 * this.#lengths.length;
    this.#lengths = copied(this.#lengths, new Uint8Array(length));
    this.#ownerNumbers = copied(this.#ownerNumbers, new Uint32Array(length));
    this.#labelNumbers = copied(this.#labelNumbers, new Uint32Array(length));
  }

  #forgetFresh(): void {
    this.#codeBytes = 0;
    this.#count = 0;
    this.#hasLabels = false;
  }
}

function copied<Column extends Uint8Array | Uint32Array>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}

/** The query of a URL without the question mark, truncated. */
function queryIn(url: string): string {
  const [beforeFragment = ''] = url.split('#', 1);
  const queryAt = beforeFragment.indexOf('?');
  return queryAt === -1 ? '' : boundedText(beforeFragment.slice(queryAt + 1), queryLengthMax);
}

/** The maximum number of each kind that is held while nothing can be sent. */
export const internedMax = 100_000;

/**
 * Numbers strings in the order in which they are first seen, so that each is sent to the click thread once. Their
 * number and length are bounded; any other string counts as the empty one, which is number 0.
 */
export class Interner {
  readonly #lengthMax: number;
  readonly #entriesMax: number;
  readonly #numbers = new Map<string, number>();
  #fresh: string[] = [];

  constructor(lengthMax: number, entriesMax: number) {
    this.#lengthMax = lengthMax;
    this.#entriesMax = entriesMax;
    this.clear();
  }

  get size(): number {
    return this.#numbers.size;
  }

  numberOf(text: string): number {
    const number = this.#numbers.get(text);
    return number ?? this.#add(text);
  }

  #add(text: string): number {
    const cut = boundedText(text, this.#lengthMax);
    const known = this.#numbers.get(cut);
    if (known !== undefined) return known;
    if (this.#numbers.size >= this.#entriesMax) return 0;
    const number = this.#numbers.size;
    this.#numbers.set(cut, number);
    this.#fresh.push(cut);
    return number;
  }

  takeFresh(): string[] {
    const fresh = this.#fresh;
    this.#fresh = [];
    return fresh;
  }

  clear(): void {
    this.#numbers.clear();
    this.#numbers.set('', 0);
    this.#fresh = [''];
  }
}
