/**
 * A batch as bytes, for the log and the wire. A frame is
 *
 *   magic u32 · payload length u32 · CRC-32 of the payload u32 · payload (zstd)
 *
 * and the payload is a JSON head (the lists and the first number) followed by the columns as they lie in
 * memory, little-endian. Times are kept as milliseconds after the first. A reader that meets anything but a
 * whole, intact frame stops there: that is where a crash cut the writer off. Signals stand in the head, and only when
 * there are some: most batches have none, and whoever does not know them yet passes over them.
 */
import type { ClickBatch } from './batch.ts';
import { clickSignals } from './click.ts';

const magic = 0x43_4c_4b_31;
export const frameHeaderBytes = 12;
const compressionLevel = 1;
/** No batch of ours comes near it; a length beyond it is damage. */
const payloadBytesMax = 64 * 1024 * 1024;

interface FrameHead {
  readonly producer: string;
  readonly firstSequence: number;
  readonly count: number;
  readonly startAt: number;
  readonly links: ClickBatch['links'];
  readonly agents: ClickBatch['agents'];
  readonly referrers: ClickBatch['referrers'];
  readonly places: ClickBatch['places'];
  readonly givenBefore?: readonly number[];
  /** One byte for each click, in Base64. */
  readonly signals?: string;
}

/** Seven columns of words and one of bytes. */
const clickBytes = 7 * 4 + 1;

export interface Frame {
  readonly producer: string;
  readonly batch: ClickBatch;
  /** Length of the whole frame, header included. */
  readonly bytes: number;
}

export function encodeFrame(producer: string, batch: ClickBatch): Uint8Array {
  const { firstSequence, at, links, agents, referrers, places, givenBefore } = batch;
  const startAt = at.reduce((earliest, time) => Math.min(earliest, time), at[0] ?? 0);
  const head: FrameHead = {
    producer,
    firstSequence,
    count: at.length,
    startAt,
    links,
    agents,
    referrers,
    places,
    ...(givenBefore && { givenBefore }),
    ...(batch.signal.some(signal => signal !== 0) && {
      signals: Buffer.from(batch.signal).toString('base64'),
    }),
  };
  const headBytes = new TextEncoder().encode(JSON.stringify(head));
  const offsets = Uint32Array.from(at, time => time - startAt);
  const { link, agent, referrer, place, visitorHigh, visitorLow, kind } = batch;
  const parts = [
    new Uint8Array(Uint32Array.of(headBytes.length).buffer),
    headBytes,
    ...[offsets, link, agent, referrer, place, visitorHigh, visitorLow, kind].map(bytesOf),
  ];
  const payload = Bun.zstdCompressSync(Buffer.concat(parts), { level: compressionLevel });
  const frame = Buffer.allocUnsafe(frameHeaderBytes + payload.length);
  frame.writeUInt32LE(magic, 0);
  frame.writeUInt32LE(payload.length, 4);
  frame.writeUInt32LE(Bun.hash.crc32(payload), 8);
  frame.set(payload, frameHeaderBytes);
  return frame;
}

/** Length of the frame that starts at `offset`, by its header; undefined where none starts. */
export function frameLength(bytes: Buffer, offset: number): number | undefined {
  if (bytes.length - offset < frameHeaderBytes || bytes.readUInt32LE(offset) !== magic) return undefined;
  const length = bytes.readUInt32LE(offset + 4);
  return length > payloadBytesMax ? undefined : frameHeaderBytes + length;
}

/** The frame at `offset`; undefined where there is no whole and intact one. */
export function decodeFrame(bytes: Buffer, offset: number): Frame | undefined {
  const length = frameLength(bytes, offset);
  if (length === undefined || offset + length > bytes.length) return undefined;
  const payload = bytes.subarray(offset + frameHeaderBytes, offset + length);
  if (Bun.hash.crc32(payload) !== bytes.readUInt32LE(offset + 8)) return undefined;
  return { ...decodePayload(Bun.zstdDecompressSync(payload)), bytes: length };
}

function decodePayload(payload: Buffer): Omit<Frame, 'bytes'> {
  const headLength = payload.readUInt32LE(0);
  const head = JSON.parse(payload.toString('utf8', 4, 4 + headLength)) as FrameHead;
  const { producer, firstSequence, count, startAt, links, agents, referrers, places, givenBefore, signals } =
    head;
  let position = 4 + headLength;
  if (payload.length !== position + count * clickBytes) throw new Error('a frame is not as long as it says');
  const words = (): Uint32Array => {
    const column = new Uint32Array(count);
    new Uint8Array(column.buffer).set(payload.subarray(position, position + count * 4));
    position += count * 4;
    return column;
  };
  const at = Float64Array.from(words(), offset => startAt + offset);
  const [link, agent, referrer, place, visitorHigh, visitorLow] = [
    words(),
    words(),
    words(),
    words(),
    words(),
    words(),
  ];
  const kind = new Uint8Array(payload.subarray(position, position + count));
  return {
    producer,
    batch: {
      firstSequence,
      at,
      kind,
      signal: signalsIn(signals, count),
      visitorHigh,
      visitorLow,
      link,
      agent,
      referrer,
      place,
      links,
      agents,
      referrers,
      places,
      ...(givenBefore && { givenBefore }),
    },
  };
}

/** What a later version may have found suspicious is no reason to refuse its clicks. */
function signalsIn(text: string | undefined, count: number): Uint8Array {
  const column = new Uint8Array(count);
  if (text === undefined) return column;
  const bytes = Buffer.from(text, 'base64').subarray(0, count);
  column.set(bytes.map(signal => (signal < clickSignals.length ? signal : 0)));
  return column;
}

function bytesOf(column: Uint32Array | Uint8Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
}
