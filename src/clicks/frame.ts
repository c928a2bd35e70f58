/**
 * A batch as bytes, for the log and the wire. A frame is
 *
 *   magic u32 · payload length u32 · CRC-32 of the payload u32 · payload
 *
 * and the payload is
 *
 *   length of the packed part u32 · packed part (zstd) · visitors' hashes
 *
 * The packed part is a JSON head (the lists and the first number), the codes of the links, and the columns. Each column
 * has small numbers that compress well, and is as wide as the largest of them needs: times are differences to the click
 * before, and a position in a list is 0 where the click is the first to need the next entry, as nearly every click of a
 * batch of many links is. Hashes do not compress, so each distinct one is appended uncompressed.
 *
 * A reader stops at anything but a whole, intact frame: that is where a crash cut the writer off.
 *
 * Invariant: a frame decodes to exactly what was encoded. A batch for which this would not hold is never written.
 */
import {
  type ClickBatch,
  clickCount,
  clickSignals,
  kindNumber,
  type LinkEntry,
  listColumns,
  listOf,
  noVisitTraits,
  type VisitTraits,
  visitKinds,
} from './click.ts';
import { decodeEarlier } from './earlier-frame.ts';
import {
  ColumnReader,
  ColumnWriter,
  columnLengthMax,
  distinctPairs,
  Positions,
  pairsAt,
} from './frame-columns.ts';
import { packTexts, unpackTexts } from './packed-texts.ts';

const magic = 0x43_4c_4b_32;
const earlierMagic = 0x43_4c_4b_31;
export const frameHeaderBytes = 12;
const compressionLevel = 1;
/** No batch comes near it; a greater length means damage. */
const payloadBytesMax = 64 * 1024 * 1024;
/** The same for the packed part once it is decompressed. */
const contentBytesMax = 64 * 1024 * 1024;

interface FrameHead extends Pick<ClickBatch, 'firstSequence' | 'agents' | 'referrers' | 'places'> {
  readonly producer: string;
  readonly count: number;
  readonly startAt: number;
  readonly givenBefore?: readonly number[];
  /** The number of links and the bytes of their codes; or the links themselves, if their codes cannot be packed. */
  readonly links: { readonly count: number; readonly codeBytes: number } | readonly LinkEntry[];
  /** The lists that links point to. */
  readonly owners: readonly (string | null)[];
  readonly tagSets: readonly (readonly string[])[];
  /** The values of each visit in the order of `visitTraitNames`, without empty ones at the end. */
  readonly visits: readonly (readonly string[])[];
  readonly visitors: number;
  /** The width of each column, in order. */
  readonly widths: readonly number[];
}

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
  if (Math.max(clickCount(batch), batch.links.length) > columnLengthMax)
    throw new RangeError('clicks cannot be encoded: too many of them');
  const { firstSequence, at, agents, referrers, places, visits, givenBefore } = batch;
  const columns = new ColumnWriter();
  columns.addTimes(at);
  columns.add(batch.kind);
  columns.add(batch.signal);
  for (const name of listColumns) columns.addPositions(batch[name]);
  const visitors = distinctPairs(batch.visitorHigh, batch.visitorLow);
  columns.addPositions(visitors.positions);
  const links = packLinks(batch.links, columns);
  const head: FrameHead = {
    producer,
    firstSequence,
    count: at.length,
    startAt: at[0] ?? 0,
    ...(givenBefore && { givenBefore }),
    links: links.head,
    owners: links.owners,
    tagSets: links.tagSets,
    agents,
    referrers,
    places,
    visits: visits.map(packVisit),
    visitors: visitors.count,
    widths: columns.widths,
  };
  const headBytes = Buffer.from(JSON.stringify(head));
  const content = Buffer.concat([wordBytes(headBytes.length), headBytes, links.codes, ...columns.parts]);
  const packed = Bun.zstdCompressSync(content, { level: compressionLevel });
  const payload = Buffer.concat([wordBytes(packed.length), packed, visitors.bytes]);
  if (payload.length > payloadBytesMax || content.length > contentBytesMax)
    throw new RangeError('clicks cannot be encoded: too many bytes');
  const header = Buffer.allocUnsafe(frameHeaderBytes);
  header.writeUInt32LE(magic, 0);
  header.writeUInt32LE(payload.length, 4);
  header.writeUInt32LE(Bun.hash.crc32(payload), 8);
  return Buffer.concat([header, payload]);
}

interface PackedLinks extends Pick<FrameHead, 'owners' | 'tagSets'> {
  readonly head: FrameHead['links'];
  readonly codes: Uint8Array;
}

function packLinks(links: readonly LinkEntry[], columns: ColumnWriter): PackedLinks {
  const codes = packTexts(links.map(({ code }) => code));
  if (codes === undefined) return { head: links, owners: [], tagSets: [], codes: new Uint8Array(0) };
  const owners = new Positions<string | null>(links.length);
  const tagSets = new Positions<readonly string[]>(links.length);
  for (let index = 0; index < links.length; index += 1) {
    const { ownerId, tags } = links[index]!;
    owners.set(index, ownerId, ownerId);
    tagSets.set(index, tags.length === 0 ? '' : JSON.stringify(tags), tags);
  }
  columns.add(codes.lengths);
  columns.addPositions(owners.positions);
  columns.addPositions(tagSets.positions);
  return {
    head: { count: links.length, codeBytes: codes.bytes.length },
    owners: owners.values,
    tagSets: tagSets.values,
    codes: codes.bytes,
  };
}

const wordBytes = (word: number): Uint8Array => new Uint8Array(Uint32Array.of(word).buffer);

export function producerFault(producer: unknown): string | undefined {
  const isName = isText(producer) && producer.length > 0 && producer.length <= producerLengthMax;
  return isName ? undefined : 'its producer has no proper name';
}

/** Why a batch cannot be written, read back and counted; undefined if it can. */
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

/** Plain loops here and below, because they run for every click and callbacks take three times as long. */
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

function hasTextsOnly({ links, agents, referrers, places, visits }: ClickBatch): boolean {
  for (let index = 0; index < links.length; index += 1) {
    const { code, ownerId, tags } = links[index]!;
    if (!isText(code) || !(ownerId === null || isText(ownerId))) return false;
    if (!Array.isArray(tags) || (tags.length > 0 && !tags.every(isText))) return false;
  }
  return (
    agents.every(agent => [agent.userAgent, agent.browser, agent.os, agent.device].every(isText)) &&
    referrers.every(({ domain, referrer }) => isText(domain) && isText(referrer)) &&
    places.every(({ country, region, city }) => isText(country) && isText(region) && isText(city)) &&
    visits.every(visit => visitTraitNames.every(name => isText(visit[name])))
  );
}

/** The order in frames: a new name comes last. */
const visitTraitNames = Object.keys(noVisitTraits) as (keyof VisitTraits)[];

function packVisit(visit: VisitTraits): string[] {
  const values = visitTraitNames.map(name => visit[name]);
  return values.slice(0, values.findLastIndex(value => value !== '') + 1);
}

const unpackVisit = (values: readonly string[]): VisitTraits =>
  Object.fromEntries(visitTraitNames.map((name, index) => [name, values[index] ?? ''])) as Record<
    keyof VisitTraits,
    string
  >;

const isText = (value: unknown): value is string => typeof value === 'string';

/** The length of the frame at `offset` according to its header; undefined if no frame starts there. */
export function frameLength(bytes: Buffer, offset: number): number | undefined {
  if (bytes.length - offset < frameHeaderBytes) return undefined;
  const found = bytes.readUInt32LE(offset);
  if (found !== magic && found !== earlierMagic) return undefined;
  const length = bytes.readUInt32LE(offset + 4);
  return length > payloadBytesMax ? undefined : frameHeaderBytes + length;
}

/** The frame at `offset`; undefined if there is no whole and intact one. */
export function decodeFrame(
  bytes: Buffer,
  offset: number,
  decompress: (payload: Buffer) => Buffer = Bun.zstdDecompressSync,
): Frame | undefined {
  const length = frameLength(bytes, offset);
  if (length === undefined || offset + length > bytes.length) return undefined;
  const payload = bytes.subarray(offset + frameHeaderBytes, offset + length);
  if (Bun.hash.crc32(payload) !== bytes.readUInt32LE(offset + 8)) return undefined;
  const isEarlier = bytes.readUInt32LE(offset) === earlierMagic;
  const { producer, batch } = isEarlier
    ? decodeEarlier(decompress(payload))
    : decodePayload(payload, decompress);
  return { producer, batch: withKnownOnly(batch), bytes: length };
}

function decodePayload(payload: Buffer, decompress: (packed: Buffer) => Buffer): Omit<Frame, 'bytes'> {
  const visitorsAt = 4 + payload.readUInt32LE(0);
  const content = decompress(payload.subarray(4, visitorsAt));
  const headEnd = 4 + content.readUInt32LE(0);
  const head = JSON.parse(content.toString('utf8', 4, headEnd)) as FrameHead;
  const { producer, firstSequence, count, startAt, agents, referrers, places, visits, givenBefore } = head;
  const { codeBytes } = 'codeBytes' in head.links ? head.links : { codeBytes: 0 };
  const columns = new ColumnReader(content, headEnd + codeBytes, head.widths);
  const at = columns.times(count, startAt);
  const kind = columns.bytes(count);
  const signal = columns.bytes(count);
  const [link, agent, referrer, place, visit] = listColumns.map(() => columns.positions(count)) as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ];
  const { high: visitorHigh, low: visitorLow } = pairsAt(
    payload.subarray(visitorsAt),
    head.visitors,
    columns.positions(count),
  );
  const links = unpackLinks(head, content.subarray(headEnd, headEnd + codeBytes), columns);
  columns.end();
  return {
    producer,
    batch: {
      firstSequence,
      at,
      kind,
      signal,
      visitorHigh,
      visitorLow,
      link,
      agent,
      referrer,
      place,
      visit,
      links,
      agents,
      referrers,
      places,
      visits: visits.map(unpackVisit),
      ...(givenBefore && { givenBefore }),
    },
  };
}

function unpackLinks(head: FrameHead, bytes: Uint8Array, columns: ColumnReader): readonly LinkEntry[] {
  if (!('codeBytes' in head.links)) return head.links;
  const { count } = head.links;
  const codes = unpackTexts({ lengths: columns.bytes(count), bytes });
  const [owners, tagSets] = [columns.positions(count), columns.positions(count)];
  const links: LinkEntry[] = [];
  for (let index = 0; index < count; index += 1)
    links.push({
      code: codes[index]!,
      ownerId: head.owners[owners[index]!]!,
      tags: head.tagSets[tagSets[index]!]!,
    });
  return links;
}

/** A later version may have more kinds and signals; its clicks are accepted with the nearest known ones. */
function withKnownOnly(batch: ClickBatch): ClickBatch {
  replaceFrom(batch.kind, visitKinds.length, kindNumber('bot'));
  replaceFrom(batch.signal, clickSignals.length, 0);
  return batch;
}

function replaceFrom(column: Uint8Array, limit: number, replacement: number): void {
  for (let index = 0; index < column.length; index += 1)
    if (column[index]! >= limit) column[index] = replacement;
}

/** Slower for small frames than Bun's own, which has no bound. */
const boundedDecompress = (payload: Buffer): Buffer =>
  // Loaded here, because it takes five megabytes in each thread and most threads read only what they wrote.
  process.getBuiltinModule('node:zlib').zstdDecompressSync(payload, { maxOutputLength: contentBytesMax });

/**
 * Decodes a frame from a place that others may write to as well. Undefined if it does not decode, is a decompression
 * bomb, or cannot be counted: such a message must not block everything behind it.
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
