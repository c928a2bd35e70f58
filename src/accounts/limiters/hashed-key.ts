import { createHmac } from 'node:crypto';

const keyBytes = 16;

/** Keys are addresses and accounts, and what is kept outside of a process names nobody: only this is. */
export function hashedKey(secret: Uint8Array, key: string): Buffer {
  return createHmac('sha256', secret).update(key).digest().subarray(0, keyBytes);
}
