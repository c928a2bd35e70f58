/**
 * Frames from a place that others may write to, too. What does not decode, or decodes to something that cannot be counted,
 * is none: one such message must not stop everything behind it.
 */
import { clickCount } from './batch.ts';
import { decodeFrame, type Frame } from './frame.ts';

const producerLengthMax = 200;
/** No click of ours is outside of these. */
const [timeMin, timeMax] = [Date.UTC(2000), Date.UTC(2200)];

/** Undefined for anything but one whole frame of ours. */
export function soundFrame(bytes: Buffer): Frame | undefined {
  try {
    const frame = decodeFrame(bytes, 0);
    return frame !== undefined && frame.bytes === bytes.length && isSound(frame) ? frame : undefined;
  } catch {
    return undefined;
  }
}

function isSound({ producer, batch }: Frame): boolean {
  const { firstSequence, at, links, agents, referrers, places } = batch;
  return (
    isText(producer) &&
    producer.length > 0 &&
    producer.length <= producerLengthMax &&
    Number.isSafeInteger(firstSequence) &&
    firstSequence >= 1 &&
    Number.isSafeInteger(firstSequence + clickCount(batch)) &&
    at.every(time => Number.isSafeInteger(time) && time >= timeMin && time < timeMax) &&
    pointsInto(batch.link, links) &&
    pointsInto(batch.agent, agents) &&
    pointsInto(batch.referrer, referrers) &&
    pointsInto(batch.place, places) &&
    links.every(
      ({ code, ownerId, tags }) =>
        isText(code) && (ownerId === null || isText(ownerId)) && tags.every(isText),
    ) &&
    agents.every(({ browser, os, device }) => isText(browser) && isText(os) && isText(device)) &&
    referrers.every(({ domain, referrer }) => isText(domain) && isText(referrer)) &&
    places.every(({ country, city }) => isText(country) && isText(city))
  );
}

const isText = (value: unknown): boolean => typeof value === 'string';

function pointsInto(column: Uint32Array, list: readonly unknown[]): boolean {
  return Array.isArray(list) && column.every(place => place < list.length);
}
