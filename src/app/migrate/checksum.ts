/**
 * A number that two engines agree on exactly when they hold the same records, in whatever order they give them: the sum
 * of the SHA-256 of every record. A sum and not an exclusive or, which two equal records would leave unchanged.
 */
import { createHash } from 'node:crypto';

const modulus = 1n << 256n;
const shownDigits = 16;

export class Checksum {
  count = 0;
  #sum = 0n;

  add(text: string): void {
    const digest = createHash('sha256').update(text).digest('hex');
    this.#sum = (this.#sum + BigInt(`0x${digest}`)) % modulus;
    this.count += 1;
  }

  get value(): string {
    return this.#sum.toString(16).padStart(64, '0');
  }

  /** Enough of it for people to compare. */
  get shown(): string {
    return this.value.slice(-shownDigits);
  }

  equals(other: Checksum): boolean {
    return this.count === other.count && this.#sum === other.#sum;
  }
}

/** The same text for the same record: the order of an object's fields means nothing, and undefined is not said. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const record = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const name of Object.keys(record).sort()) {
    const field = record[name];
    if (field !== undefined)
      text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonicalText(field)}`;
  }
  return `{${text}}`;
}
