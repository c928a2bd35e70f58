/**
 * A batch as bytes, for the log and the wire. A frame is
 *
 *   magic u32 · payload length u32 · CRC-32 of the payload u32 · payload (zstd)
 *
 * and the payload is a JSON head (the lists and the first number) followed by the columns as they lie in
 * memory, little-endian. Times are kept as milliseconds after the first: in 32 bits, or as doubles when they span more
 * than those hold (49.7 days), as the clicks of an imported log may. The head says so, and a reader that knows only the
 * narrow column finds such a frame longer than it expects and rejects it. A reader that meets anything but a whole, intact
 * frame stops there: that is where a crash cut the writer off. Signals stand in the head, and only when there are some:
 * most batches have none, and a reader that does not know them yet ignores them.
 *
 * Invariant: a frame is read back as it was given. What could not be is never written.
 */
import { zstdDecompressSync } from 'node:zlib';
import {
  type ClickBatch,
  clickCount,
  clickSignals,
  kindNumber,
  listColumns,
  listOf,
  visitKinds,
} from './click.ts';

const magic = 0x43_4c_4b_31;
export const frameHeaderBytes = 12;
const compressionLevel = 1;
/** No batch of ours comes near it; a length beyond it is damage. */
const payloadBytesMax = 64 * 1024 * 1024;
/** The same for the payload once it is decompressed. */
const contentBytesMax = 64 * 1024 * 1024;

interface FrameHead {
  readonly producer: string;
  readonly firstSequence: number;
  readonly count: number;
  readonly startAt: number;
  /** Width of the column of times; absent for the narrow one. */
  readonly offsetBytes?: number;
  readonly links: ClickBatch['links'];
  readonly agents: ClickBatch['agents'];
  readonly referrers: ClickBatch['referrers'];
  readonly places: ClickBatch['places'];
  readonly givenBefore?: readonly number[];
  /** One byte for each click, in Base64. */
  readonly signals?: string;
}

/** All columns but the times: six of words and one of bytes. */
const clickBytes = 6 * 4 + 1;
const narrowOffsetBytes = 4;
const narrowOffsetMax = 2 ** 32 - 1;
const wideOffsetBytes = 8;

const producerLengthMax = 200;
/** Times before or after these come from a clock that is wrong. */
export const [clickTimeMin, clickTimeMax] = [Date.UTC(2000), Date.UTC(2200)];

export interface Frame {
  readonly producer: string;
  readonly batch: ClickBatch;
  /** Length of the whole frame, header included. */
  readonly bytes: number;
}

/** Throws for a batch that could not be read back as it is. */
export function encodeFrame(producer: string, batch: ClickBatch): Uint8Array {
  const fault = producerFault(producer) ?? batchFault(batch);
  if (fault !== undefined) throw new RangeError(`clicks cannot be encoded: ${fault}`);
  const { firstSequence, at, links, agents, referrers, places, givenBefore } = batch;
  const startAt = at.reduce((earliest, time) => Math.min(earliest, time), at[0] ?? 0);
  const offsets = at.map(time => time - startAt);
  const isWide = offsets.some(offset => offset > narrowOffsetMax);
  const head: FrameHead = {
    producer,
    firstSequence,
    count: at.length,
    startAt,
    ...(isWide && { offsetBytes: wideOffsetBytes }),
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
  const times = isWide ? offsets : new Uint32Array(offsets);
  const { link, agent, referrer, place, visitorHigh, visitorLow, kind } = batch;
  const parts = [
    new Uint8Array(Uint32Array.of(headBytes.length).buffer),
    headBytes,
    ...[times, link, agent, referrer, place, visitorHigh, visitorLow, kind].map(bytesOf),
  ];
  const content = Buffer.concat(parts);
  const payload = Bun.zstdCompressSync(content, { level: compressionLevel });
  if (payload.length > payloadBytesMax || content.length > contentBytesMax)
    throw new RangeError('clicks cannot be encoded: too many bytes');
  const frame = Buffer.allocUnsafe(frameHeaderBytes + payload.length);
  frame.writeUInt32LE(magic, 0);
  frame.writeUInt32LE(payload.length, 4);
  frame.writeUInt32LE(Bun.hash.crc32(payload), 8);
  frame.set(payload, frameHeaderBytes);
  return frame;
}

export function producerFault(producer: unknown): string | undefined {
  const isName = isText(producer) && producer.length > 0 && producer.length <= producerLengthMax;
  return isName ? undefined : 'its producer has no proper name';
}

/** What keeps a batch from being written, read back and counted; undefined when nothing does. */
export function batchFault(batch: ClickBatch): string | undefined {
  const { firstSequence, at, kind, signal, visitorHigh, visitorLow, givenBefore = [] } = batch;
  const count = clickCount(batch);
  const isNumber = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
  if (!isNumber(firstSequence) || firstSequence < 1 || !isNumber(firstSequence + count))
    return 'its first number is out of range';
  if (!Array.isArray(givenBefore) || !givenBefore.every(isNumber)) return 'a number by partition is none';
  if (!areTimes(at)) return 'a time is not a whole millisecond of the years 2000 to 2199';
  if ([kind, signal, visitorHigh, visitorLow].some(({ length }) => length !== count))
    return 'its columns differ in length';
  for (const name of listColumns) {
    const [column, list] = [batch[name], batch[listOf[name]]];
    if (column.length !== count) return 'its columns differ in length';
    if (!Array.isArray(list) || !areBelow(column, list.length)) return 'a click points beyond a list';
  }
  if (!areBelow(kind, visitKinds.length)) return 'a kind is unknown';
  if (!areBelow(signal, clickSignals.length)) return 'a signal is unknown';
  return hasTextsOnly(batch) ? undefined : 'a list has something else than texts';
}

/** Plain loops, here and below: they run for every click, and callbacks took three times as long. */
function areTimes(column: Float64Array): boolean {
  for (let index = 0; index < column.length; index += 1) {
    const time = column[index]!;
    if (!(time >= clickTimeMin && time < clickTimeMax) || time !== Math.floor(time)) return false;
  }
  return true;
}

function areBelow(column: Uint32Array | Uint8Array, limit: number): boolean {
  for (let index = 0; index < column.length; index += 1) if (column[index]! >= limit) return false;
  return true;
}

const hasTextsOnly = ({ links, agents, referrers, places }: ClickBatch): boolean =>
  links.every(
    ({ code, ownerId, tags }) => isText(code) && (ownerId === null || isText(ownerId)) && tags.every(isText),
  ) &&
  agents.every(agent => [agent.userAgent, agent.browser, agent.os, agent.device].every(isText)) &&
  referrers.every(({ domain, referrer }) => isText(domain) && isText(referrer)) &&
  places.every(({ country, city }) => isText(country) && isText(city));

const isText = (value: unknown): value is string => typeof value === 'string';

/** Length of the frame that starts at `offset`, by its header; undefined where none starts. */
export function frameLength(bytes: Buffer, offset: number): number | undefined {
  if (bytes.length - offset < frameHeaderBytes || bytes.readUInt32LE(offset) !== magic) return undefined;
  const length = bytes.readUInt32LE(offset + 4);
  return length > payloadBytesMax ? undefined : frameHeaderBytes + length;
}

/** The frame at `offset`; undefined where there is no whole and intact one. */
export function decodeFrame(
  bytes: Buffer,
  offset: number,
  decompress: (payload: Buffer) => Buffer = Bun.zstdDecompressSync,
): Frame | undefined {
  const length = frameLength(bytes, offset);
  if (length === undefined || offset + length > bytes.length) return undefined;
  const payload = bytes.subarray(offset + frameHeaderBytes, offset + length);
  if (Bun.hash.crc32(payload) !== bytes.readUInt32LE(offset + 8)) return undefined;
  return { ...decodePayload(decompress(payload)), bytes: length };
}

function decodePayload(payload: Buffer): Omit<Frame, 'bytes'> {
  const headLength = payload.readUInt32LE(0);
  const head = JSON.parse(payload.toString('utf8', 4, 4 + headLength)) as FrameHead;
  const { producer, firstSequence, count, links, agents, referrers, places, givenBefore, signals } = head;
  const { startAt, offsetBytes = narrowOffsetBytes } = head;
  if (offsetBytes !== narrowOffsetBytes && offsetBytes !== wideOffsetBytes)
    throw new Error('a frame has times of an unknown width');
  let position = 4 + headLength;
  if (payload.length !== position + count * (offsetBytes + clickBytes))
    throw new Error('a frame is not as long as it says');
  const offsets = offsetBytes === wideOffsetBytes ? new Float64Array(count) : new Uint32Array(count);
  bytesOf(offsets).set(payload.subarray(position, position + count * offsetBytes));
  position += count * offsetBytes;
  const at = Float64Array.from(offsets, offset => startAt + offset);
  const words = (): Uint32Array => {
    const column = new Uint32Array(count);
    new Uint8Array(column.buffer).set(payload.subarray(position, position + count * 4));
    position += count * 4;
    return column;
  };
  const [link, agent, referrer, place, visitorHigh, visitorLow] = [
    words(),
    words(),
    words(),
    words(),
    words(),
    words(),
  ];
  const kind = knownOnly(payload.subarray(position, position + count), visitKinds.length, kindNumber('bot'));
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

function signalsIn(text: string | undefined, count: number): Uint8Array {
  const column = new Uint8Array(count);
  if (text !== undefined)
    column.set(knownOnly(Buffer.from(text, 'base64').subarray(0, count), clickSignals.length, 0));
  return column;
}

/** A later version may have more kinds and signals than this one: that is no reason to reject its clicks. */
const knownOnly = (column: Uint8Array, known: number, fallback: number): Uint8Array =>
  Uint8Array.from(column, number => (number < known ? number : fallback));

function bytesOf(column: Float64Array | Uint32Array | Uint8Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
}

/** Slower for small frames than Bun's own, which has no bound. */
const boundedDecompress = (payload: Buffer): Buffer =>
  zstdDecompressSync(payload, { maxOutputLength: contentBytesMax });

/**
 * A frame from a place that others may write to, too. What does not decode, is a decompression bomb, or decodes to
 * something that cannot be counted, is none: one such message must not stop everything behind it.
 */
export function validateFrame(bytes: Buffer): Frame | undefined {
  try {
    const frame = decodeFrame(bytes, 0, boundedDecompress);
    return frame !== undefined && frame.bytes === bytes.length && isSound(frame) ? frame : undefined;
  } catch {
    return undefined;
  }
}

const isSound = ({ producer, batch }: Frame): boolean =>
  producerFault(producer) === undefined && batchFault(batch) === undefined;
