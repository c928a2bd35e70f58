/**
 * A summary of one side's part, small enough for memory however many records there are: the checksum of all, and the
 * sums of many buckets that records fall into by their names. Where the sums of a bucket agree, its records are the
 * same and are skipped; a thousand differences among a billion records leave a few in a hundred to be looked
 * up.
 */
import { hash } from 'node:crypto';

const bucketCount = 1 << 16;
const modulus = 1n << 256n;
const shownDigits = 16;

export class Digest {
  readonly checksum = new Checksum();
  readonly #sums = new BigUint64Array(bucketCount);

  /** `text` is the content of the record, `name` its key on both sides. */
  add(name: string, text: string): void {
    const digest = hash('sha256', text, 'buffer');
    this.checksum.add(digest);
    // An element of the array wraps around by itself.
    this.#sums[bucketOf(name)]! += digest.readBigUInt64BE();
  }

  equals(other: Digest): boolean {
    return this.checksum.equals(other.checksum);
  }

  /** Whether the record with this name, or another one of its bucket, differs. */
  differsAt(name: string, other: Digest): boolean {
    const bucket = bucketOf(name);
    return this.#sums[bucket] !== other.#sums[bucket];
  }
}

const bucketOf = (name: string): number => Bun.hash.crc32(name) % bucketCount;

/**
 * A number that two engines agree on exactly when they hold the same records, in any order: the sum of the SHA-256 of
 * every record. A sum and not an exclusive or, which two equal records would leave unchanged.
 */
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

/** The same text for the same record: the order of an object's fields is irrelevant, and undefined is left out. */
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
