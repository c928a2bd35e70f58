/**
 * Messages of a partition as one object of an archive, each as it lies in Kafka, behind its offset and the time it was
 * written:
 *
 *   offset u64 · time u64 · length u32 · value
 *
 * Values are frames, which are compressed already. What is no frame of ours goes along, since only the counters judge
 * that.
 */
import { ArchiveDamaged } from '../../archive.ts';

export interface ArchivedMessage {
  readonly offset: number;
  /** When it was written, in milliseconds since the Unix epoch. */
  readonly at: number;
  readonly value: Buffer;
}

const headBytes = 20;

export const packedBytes = ({ value }: Pick<ArchivedMessage, 'value'>): number => headBytes + value.length;

export function packMessages(messages: readonly ArchivedMessage[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(messages.reduce((sum, message) => sum + packedBytes(message), 0));
  const view = new DataView(bytes.buffer);
  let position = 0;
  for (const { offset, at, value } of messages) {
    view.setBigUint64(position, BigInt(offset), true);
    view.setBigUint64(position + 8, BigInt(at), true);
    view.setUint32(position + 16, value.length, true);
    bytes.set(value, position + headBytes);
    position += headBytes + value.length;
  }
  return bytes;
}

export function unpackMessages(bytes: Uint8Array): ArchivedMessage[] {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const messages: ArchivedMessage[] = [];
  for (let position = 0; position < whole.length; ) {
    const start = position + headBytes;
    const length = start <= whole.length ? whole.readUInt32LE(position + 16) : Number.POSITIVE_INFINITY;
    if (start + length > whole.length) throw new ArchiveDamaged('messages in the archive are cut off');
    messages.push({
      offset: Number(whole.readBigUInt64LE(position)),
      at: Number(whole.readBigUInt64LE(position + 8)),
      value: whole.subarray(start, start + length),
    });
    position = start + length;
  }
  return messages;
}
