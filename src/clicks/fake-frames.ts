/** Frames taken apart and put together again, so that tests can make such as no encoder would. */
import { frameHeaderBytes } from './frame.ts';

export interface FramePayload {
  // biome-ignore lint/suspicious/noExplicitAny: what stands there is what tests change.
  readonly head: any;
  /** The columns, as they lie. */
  readonly columns: Buffer;
}

export function openedFrame(frame: Uint8Array): FramePayload {
  const payload = Bun.zstdDecompressSync(frame.subarray(frameHeaderBytes));
  const columnsFrom = 4 + payload.readUInt32LE(0);
  return {
    head: JSON.parse(payload.toString('utf8', 4, columnsFrom)),
    columns: payload.subarray(columnsFrom),
  };
}

export function payloadOf({ head, columns }: FramePayload): Buffer {
  const headBytes = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(headBytes.length);
  return Buffer.concat([length, headBytes, columns]);
}

/** A frame with that payload, whatever it says. */
export function forgedFrame(content: FramePayload | Uint8Array): Buffer {
  const payload = Bun.zstdCompressSync(content instanceof Uint8Array ? content : payloadOf(content));
  const header = Buffer.alloc(frameHeaderBytes);
  header.writeUInt32LE(0x43_4c_4b_31, 0);
  header.writeUInt32LE(payload.length, 4);
  header.writeUInt32LE(Bun.hash.crc32(payload), 8);
  return Buffer.concat([header, payload]);
}
