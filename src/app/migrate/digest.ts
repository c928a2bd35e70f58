/**
 * What a side has of a part, small enough to be kept in memory however many records there are: the checksum of all, and
 * the sums of many buckets that records fall into by their names. Where the sums of a bucket agree, its records are the
 * same and need not be looked at; a thousand differences among a billion records leave a few in a hundred to be looked
 * up.
 */
import { hash } from 'node:crypto';
import { Checksum } from './checksum.ts';

const bucketCount = 1 << 16;

export class Digest {
  readonly checksum = new Checksum();
  readonly #sums = new BigUint64Array(bucketCount);

  /** `text` is what the record says, `name` what both sides know it by. */
  add(name: string, text: string): void {
    const digest = hash('sha256', text, 'buffer');
    this.checksum.add(digest);
    // An element wraps around by itself.
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
