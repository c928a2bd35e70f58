/**
 * What the redirect's thread hands to the click thread. Columns again, and strings only once: a string that the
 * click thread has heard before is a number. Visitors' addresses are in here and nowhere further on.
 */
import type { LinkEntry } from './batch.ts';

export interface RawBatch {
  readonly firstSequence: number;
  readonly at: Float64Array;
  readonly flags: Uint8Array;
  readonly link: Uint32Array;
  readonly agent: Uint32Array;
  readonly referrer: Uint32Array;
  /** Joined by line feeds: one string crosses between threads many times faster than a list of them. */
  readonly addresses: string;
  /** True when the numbering of strings starts anew with this batch. */
  readonly forgetStrings: boolean;
  /** Numbered on from what was sent before. */
  readonly newLinks: readonly LinkEntry[];
  readonly newAgents: readonly string[];
  readonly newReferrers: readonly string[];
}

export const rawBatchTransfers = (batch: RawBatch): ArrayBuffer[] => [
  batch.at.buffer as ArrayBuffer,
  batch.flags.buffer as ArrayBuffer,
  batch.link.buffer as ArrayBuffer,
  batch.agent.buffer as ArrayBuffer,
  batch.referrer.buffer as ArrayBuffer,
];
