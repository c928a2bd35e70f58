/**
 * Keys as text. DynamoDB compares keys byte by byte and refuses long ones, so that numbers get a fixed width and an id
 * of any length, which may come from a stranger's request, becomes one that fits.
 */
import { createHash } from 'node:crypto';

/** DynamoDB takes 2,048 bytes; no id of ours comes near this. */
const idBytesMax = 512;
const digits = 16;
/** Added to keep the order of negative numbers too. */
const offset = 10 ** 15;

export function partitionOf(kind: string, id: string): string {
  if (Buffer.byteLength(id) <= idBytesMax) return `${kind}#${id}`;
  return `${kind}##${createHash('sha256').update(id).digest('hex')}`;
}

/** Whole numbers between -10^15 and 9 * 10^15, in their order. */
export function sortableText(value: number): string {
  return String(value + offset).padStart(digits, '0');
}
