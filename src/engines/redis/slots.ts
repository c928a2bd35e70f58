/**
 * Which server of a Cluster keeps a key: the key, or the part of it in braces, hashes to one of 16,384 slots
 * (CRC-16/XMODEM), and each slot belongs to one primary.
 */
import type { ServerAddress } from './address.ts';
import type { RedisReply } from './redis.ts';

export const slotCount = 16_384;

export interface SlotRange {
  readonly from: number;
  /** Inclusive. */
  readonly to: number;
  readonly primary: ServerAddress;
}

const polynomial = 0x1021;
const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc & 0x8000 ? polynomial : 0);
  return crc;
});
const encoder = new TextEncoder();

export function slotOf(key: string): number {
  const opening = key.indexOf('{');
  const closing = opening === -1 ? -1 : key.indexOf('}', opening + 1);
  const tag = closing > opening + 1 ? key.slice(opening + 1, closing) : key;
  let crc = 0;
  for (const byte of encoder.encode(tag)) crc = ((crc << 8) & 0xffff) ^ crcTable[(crc >> 8) ^ byte]!;
  return crc % slotCount;
}

/** Reads the answer to CLUSTER SLOTS. A server that does not know its own host is where it was asked. */
export function readSlots(reply: RedisReply, asked: ServerAddress): SlotRange[] {
  if (!Array.isArray(reply)) return [];
  return reply.flatMap(row => {
    if (!Array.isArray(row) || !Array.isArray(row[2])) return [];
    const [from, to, [host, port]] = row;
    return [
      {
        from: Number(from),
        to: Number(to),
        primary: { host: String(host || asked.host), port: Number(port) },
      },
    ];
  });
}
