/** Takes frames apart and puts them together again, so that tests can forge frames that no encoder writes. */
import { frameHeaderBytes } from './frame.ts';

export interface FramePayload {
  // biome-ignore lint/suspicious/noExplicitAny: tests change anything in it.
  readonly head: any;
  /** The bytes of the codes and columns. */
  readonly columns: Buffer;
  /** The hashes, which are not packed. */
  readonly visitors: Buffer;
}

export function openedFrame(frame: Uint8Array): FramePayload {
  const payload = Buffer.from(frame.subarray(frameHeaderBytes));
  const packedEnd = 4 + payload.readUInt32LE(0);
  const content = Bun.zstdDecompressSync(payload.subarray(4, packedEnd));
  const columnsFrom = 4 + content.readUInt32LE(0);
  return {
    head: JSON.parse(content.toString('utf8', 4, columnsFrom)),
    columns: content.subarray(columnsFrom),
    visitors: payload.subarray(packedEnd),
  };
}

/** The whole payload uncompressed, so that it can be changed byte by byte. */
export function payloadOf({ head, columns, visitors }: FramePayload): Buffer {
  const headBytes = Buffer.from(JSON.stringify(head));
  return Buffer.concat([word(visitors.length), visitors, word(headBytes.length), headBytes, columns]);
}

/** A frame with any payload. */
export function forgedFrame(given: FramePayload | Uint8Array): Buffer {
  const bytes = given instanceof Uint8Array ? Buffer.from(given) : payloadOf(given);
  const visitorsEnd = 4 + (bytes.length < 4 ? 0 : bytes.readUInt32LE(0));
  const packed = Bun.zstdCompressSync(bytes.subarray(visitorsEnd));
  return framed(0x43_4c_4b_32, Buffer.concat([word(packed.length), packed, bytes.subarray(4, visitorsEnd)]));
}

/** A frame of the earlier version. */
export const forgedEarlierFrame = (content: Uint8Array): Buffer =>
  framed(0x43_4c_4b_31, Bun.zstdCompressSync(content));

function framed(magic: number, payload: Uint8Array): Buffer {
  return Buffer.concat([word(magic), word(payload.length), word(Bun.hash.crc32(payload)), payload]);
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
