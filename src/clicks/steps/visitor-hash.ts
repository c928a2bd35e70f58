/**
 * A visitor's pseudonym: 64 bits of HMAC-SHA-256 over address and agent, under a key that changes every UTC day. Equal
 * within a day, so that visitors can be counted; different on the next, so that no visitor can be followed.
 *
 * Without the key nobody can tell whether a hash belongs to an address, or whether hashes of two days belong together.
 * An attacker with the installation's secret can derive any day's key and test guesses: all of IPv4 takes a few
 * minutes. To protect against the operator too, a caller can supply random salts and destroy each after its day, which
 * makes old hashes meaningless to everyone.
 *
 * With 64 bits, a million visitors in a day have one chance in 37 million that any two share a hash.
 */
import { canonicalAddress } from './geo.ts';

export interface VisitorHasher {
  /** 16 hex digits. */
  visitorOf(address: string, userAgent: string, atMs: number): string;
}

/** Either the installation's secret, or the salt of each day such as `2026-01-31`; both at least 16 bytes. */
export type VisitorHasherOptions =
  | { readonly secret: Uint8Array; readonly salt?: undefined }
  | { readonly salt: (day: string) => Uint8Array; readonly secret?: undefined };

const keyBytesMin = 16;
const dayMs = 86_400_000;

interface DayKey {
  readonly day: number;
  /** A hasher with the key set; each hash starts from a copy of it, which is twice as fast as setting the key again. */
  readonly keyed: Bun.CryptoHasher;
}

export function createVisitorHasher(options: VisitorHasherOptions): VisitorHasher {
  const saltOf = options.salt ?? saltsFrom(options.secret);
  // Two days, because clicks of yesterday still arrive after midnight.
  let latest: DayKey | undefined;
  let other: DayKey | undefined;

  function keyedFor(day: number): Bun.CryptoHasher {
    if (latest?.day === day) return latest.keyed;
    if (other?.day === day) return other.keyed;
    const salt = saltOf(new Date(day * dayMs).toISOString().slice(0, 10));
    if (salt.length < keyBytesMin) throw new RangeError(`a visitor salt has at least ${keyBytesMin} bytes`);
    const made = { day, keyed: new Bun.CryptoHasher('sha256', salt) };
    if (latest === undefined || day > latest.day) [latest, other] = [made, latest];
    else other = made;
    return made.keyed;
  }

  return {
    visitorOf(address, userAgent, atMs) {
      const keyed = keyedFor(Math.floor(atMs / dayMs)).copy();
      // No address has a line break, so no two pairs make the same text.
      return keyed
        .update(`${canonicalAddress(address)}\n${userAgent}`)
        .digest('hex')
        .slice(0, 16);
    },
  };
}

function saltsFrom(secret: Uint8Array): (day: string) => Uint8Array {
  if (secret.length < keyBytesMin) throw new RangeError(`a secret has at least ${keyBytesMin} bytes`);
  return day => new Bun.CryptoHasher('sha256', secret).update(`visitor salt ${day}`).digest();
}
