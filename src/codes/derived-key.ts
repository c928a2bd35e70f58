import { createHmac } from 'node:crypto';

/**
 * One secret per installation, one key per purpose. Each use of the secret derives its own key under its own
 * label, so that nothing learned about one key helps against another.
 */
export function deriveKey(secret: Uint8Array, label: string): Uint8Array {
  if (secret.length < 16) throw new RangeError('the installation secret has at least 16 bytes');
  return new Uint8Array(createHmac('sha256', secret).update(`terse ${label}`).digest());
}
