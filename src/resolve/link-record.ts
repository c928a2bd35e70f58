/**
 * Encodes a link as bytes in this process's memory, by the table of its fields: small, and never read by another
 * version. The code and the destination are kept separately, because a redirect needs only these.
 */
import { compileObject } from '../base/compiled-object.ts';
import { fieldRows, type LinkField } from '../links/fields.ts';
import type { Link } from '../links/link.ts';

/** How many owners are kept once for all their links; further ones are written into each record. */
const ownersMax = 65_536;
const decoder = new TextDecoder();

type Row = (typeof fieldRows)[number];
const isApart = ([name]: Row): boolean => name === 'code' || name === 'longUrl';
const rows = fieldRows.filter(row => !isApart(row));
const apart = fieldRows.filter(isApart);
/** Takes the values in the order of their rows, the separate ones first. */
const linkOf = compileObject<readonly unknown[], Link>(
  [...apart, ...rows].map(([name], place) => ({ name, from: String(place) })),
);

/** Markers before a number: null, or not a small integer, which follows as a float. */
const [noNumber, asFloat, firstNumber] = [0, 1, 2];
/** Markers before an owner: null, or its text follows. */
const [noOwner, asText, firstOwner] = [0, 1, 2];

export class LinkRecords {
  #owners: string[] = [];
  #ownerNumbers = new Map<string, number>();
  /** The buffer for writing, the record that is being read, and the position in either. */
  #bytes = Buffer.alloc(4_096);
  #record: Uint8Array = this.#bytes;
  #at = 0;

  /** Valid until the next call. */
  encode(link: Link): Uint8Array {
    this.#at = 0;
    for (let place = 0; place < rows.length; place += 1) {
      const [name, field] = rows[place]!;
      if (name === 'ownerId') this.#writeOwner(link.ownerId);
      else this.#write(field, link[name]);
    }
    return this.#bytes.subarray(0, this.#at);
  }

  decode(code: string, longUrl: string, record: Uint8Array): Link {
    this.#record = record;
    this.#at = 0;
    const values: unknown[] = apart.map(([name]) => (name === 'code' ? code : longUrl));
    for (let place = 0; place < rows.length; place += 1) {
      const [name, field] = rows[place]!;
      values.push(name === 'ownerId' ? this.#readOwner() : this.#read(field));
    }
    return linkOf(values);
  }

  /** Records encoded before can no longer be decoded after this. */
  clear(): void {
    this.#owners = [];
    this.#ownerNumbers = new Map();
  }

  #write({ kind, choices }: LinkField, value: unknown): void {
    if (kind === 'text') this.#writeText(value as string | null);
    else if (kind === 'flag') this.#writeNumber(value === true ? 1 : 0);
    else if (kind === 'choice') this.#writeNumber(choices!.indexOf(value) + 1);
    else if (kind === 'texts')
      this.#writeText((value as readonly string[]).length === 0 ? null : JSON.stringify(value));
    else if (kind === 'risk') this.#writeText(value === null ? null : JSON.stringify(value));
    else this.#writeOptional(value as number | null);
  }

  #read({ kind, choices }: LinkField): unknown {
    if (kind === 'text') return this.#readText();
    if (kind === 'flag') return this.#readNumber() === 1;
    if (kind === 'choice') return choices![this.#readNumber() - 1];
    if (kind === 'texts') return JSON.parse(this.#readText() ?? '[]');
    if (kind === 'risk') return JSON.parse(this.#readText() ?? 'null');
    return this.#readOptional();
  }

  #writeOwner(ownerId: string | null): void {
    if (ownerId === null) {
      this.#writeNumber(noOwner);
      return;
    }
    let number = this.#ownerNumbers.get(ownerId);
    if (number === undefined && this.#owners.length < ownersMax) {
      number = this.#owners.push(ownerId) - 1;
      this.#ownerNumbers.set(ownerId, number);
    }
    this.#writeNumber(number === undefined ? asText : firstOwner + number);
    if (number === undefined) this.#writeText(ownerId);
  }

  #readOwner(): string | null {
    const number = this.#readNumber();
    if (number === noOwner) return null;
    return number === asText ? this.#readText() : this.#owners[number - firstOwner]!;
  }

  #writeOptional(value: number | null): void {
    if (value === null) this.#writeNumber(noNumber);
    else if (Number.isSafeInteger(value + firstNumber) && value >= 0) this.#writeNumber(value + firstNumber);
    else {
      this.#writeNumber(asFloat);
      this.#reserve(8);
      new DataView(this.#bytes.buffer, this.#bytes.byteOffset).setFloat64(this.#at, value);
      this.#at += 8;
    }
  }

  #readOptional(): number | null {
    const number = this.#readNumber();
    if (number === noNumber) return null;
    if (number !== asFloat) return number - firstNumber;
    this.#at += 8;
    return new DataView(this.#record.buffer, this.#record.byteOffset).getFloat64(this.#at - 8);
  }

  /** Seven bits per byte, the lowest first; the eighth bit says that more follow. */
  #writeNumber(value: number): void {
    this.#reserve(8);
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) {
      this.#bytes[this.#at] = (rest % 128) + 128;
      this.#at += 1;
    }
    this.#bytes[this.#at] = rest;
    this.#at += 1;
  }

  #readNumber(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#record[this.#at]!;
      this.#at += 1;
      value += (byte % 128) * scale;
      if (byte < 128) return value;
    }
  }

  /** Writes the length plus one, so that 0 stands for null. */
  #writeText(text: string | null): void {
    if (text === null) {
      this.#writeNumber(0);
      return;
    }
    const length = Buffer.byteLength(text);
    this.#writeNumber(length + 1);
    this.#reserve(length);
    this.#bytes.write(text, this.#at);
    this.#at += length;
  }

  #readText(): string | null {
    const length = this.#readNumber() - 1;
    if (length === -1) return null;
    this.#at += length;
    return decoder.decode(this.#record.subarray(this.#at - length, this.#at));
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return;
    const larger = Buffer.alloc(2 * (this.#at + count));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}
