/**
 * Frames of an earlier version, which logs contain for as long as single clicks are kept. The payload is one zstd
 * stream: the length of the head, the head as JSON with all lists, and the columns as they are in memory,
 * little-endian. Visit traits and regions were not recorded then.
 */
import { type ClickBatch, noVisitTraits, type Place } from './click.ts';

interface EarlierHead extends Pick<ClickBatch, 'firstSequence' | 'links' | 'agents' | 'referrers'> {
  readonly producer: string;
  readonly count: number;
  readonly startAt: number;
  /** Width of the column of times; absent for the narrow one. */
  readonly offsetBytes?: number;
  readonly places: readonly Omit<Place, 'region'>[];
  readonly givenBefore?: readonly number[];
  /** One byte for each click, in Base64; only when there are some. */
  readonly signals?: string;
}

/** All columns but the times: six of words and one of bytes. */
const clickBytes = 6 * 4 + 1;
const narrowOffsetBytes = 4;
const wideOffsetBytes = 8;

export function decodeEarlier(payload: Buffer): { readonly producer: string; readonly batch: ClickBatch } {
  const headLength = payload.readUInt32LE(0);
  const head = JSON.parse(payload.toString('utf8', 4, 4 + headLength)) as EarlierHead;
  const { producer, firstSequence, count, links, agents, referrers, places, givenBefore, signals } = head;
  const { startAt, offsetBytes = narrowOffsetBytes } = head;
  if (offsetBytes !== narrowOffsetBytes && offsetBytes !== wideOffsetBytes)
    throw new Error('a frame has times of an unknown width');
  let position = 4 + headLength;
  if (payload.length !== position + count * (offsetBytes + clickBytes))
    throw new Error('a frame is not as long as it says');
  const bytes = (length: number): Buffer => {
    position += length;
    return payload.subarray(position - length, position);
  };
  const offsets = offsetBytes === wideOffsetBytes ? new Float64Array(count) : new Uint32Array(count);
  new Uint8Array(offsets.buffer).set(bytes(count * offsetBytes));
  const words = (): Uint32Array => {
    const column = new Uint32Array(count);
    new Uint8Array(column.buffer).set(bytes(count * 4));
    return column;
  };
  const [link, agent, referrer, place] = [words(), words(), words(), words()];
  const [visitorHigh, visitorLow] = [words(), words()];
  const signal = new Uint8Array(count);
  if (signals !== undefined) signal.set(Buffer.from(signals, 'base64').subarray(0, count));
  return {
    producer,
    batch: {
      firstSequence,
      at: Float64Array.from(offsets, offset => startAt + offset),
      kind: Uint8Array.from(bytes(count)),
      signal,
      visitorHigh,
      visitorLow,
      link,
      agent,
      referrer,
      place,
      visit: new Uint32Array(count),
      links,
      agents,
      referrers,
      places: places.map(each => ({ ...each, region: '' })),
      visits: [noVisitTraits],
      ...(givenBefore && { givenBefore }),
    },
  };
}
