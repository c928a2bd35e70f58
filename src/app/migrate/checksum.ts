/**
 * A number that two engines agree on exactly when they hold the same records, in whatever order they give them: the sum
 * of the SHA-256 of every record. A sum and not an exclusive or, which two equal records would leave unchanged.
 */
const modulus = 1n << 256n;
const shownDigits = 16;

export class Checksum {
  count = 0;
  #sum = 0n;

  /** Takes the hash of a record. */
  add(hash: Buffer): void {
    this.#sum = (this.#sum + BigInt(`0x${hash.toString('hex')}`)) % modulus;
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
export const canonicalText = (value: unknown): string => JSON.stringify(inOrder(value)) ?? 'null';

function inOrder(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(inOrder);
  const record = value as Readonly<Record<string, unknown>>;
  // Without a prototype no name means anything special.
  const ordered: Record<string, unknown> = Object.create(null);
  for (const name of Object.keys(record).sort()) ordered[name] = inOrder(record[name]);
  return ordered;
}
