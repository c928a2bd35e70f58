/**
 * Frames from a place that others may write to, too. What does not decode, or decodes to something that cannot be counted,
 * is none: one such message must not stop everything behind it.
 */
import { batchFault, decodeFrame, type Frame, producerFault } from './frame.ts';

/** Undefined for anything but one whole frame of ours. */
export function soundFrame(bytes: Buffer): Frame | undefined {
  try {
    const frame = decodeFrame(bytes, 0);
    return frame !== undefined && frame.bytes === bytes.length && isSound(frame) ? frame : undefined;
  } catch {
    return undefined;
  }
}

const isSound = ({ producer, batch }: Frame): boolean =>
  producerFault(producer) === undefined && batchFault(batch) === undefined;
