/**
 * Secrets that we hand out: API keys, the tokens of sessions and invitations. Each is 256 random bits, shown once
 * and stored as its SHA-256. They are looked up by that hash, so a guess learns nothing from how long it takes, and
 * a stolen database holds nothing that opens anything. Slow hashing is for passwords, which can be guessed.
 */
import { hash } from 'node:crypto';
import type { Random } from '../base/random.ts';

const idBytes = 9;
const secretBytes = 32;

/** An id for a record; not secret, but it reveals no count of records. */
export function newId(random: Random, prefix: string): string {
  return `${prefix}_${textOf(random.bytes(idBytes))}`;
}

/** The prefix tells people, and scanners of leaked secrets, what they have found. */
export function newSecret(random: Random, prefix: string): string {
  return `${prefix}_${textOf(random.bytes(secretBytes))}`;
}

export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
