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
  readonly visitor: Uint32Array;
  readonly referrer: Uint32Array;
  /** True when the numbering of strings starts anew with this batch. */
  readonly forgetStrings: boolean;
  /** Numbered on from what was sent before. */
  readonly newLinks: readonly LinkEntry[];
  readonly newAgents: readonly string[];
  readonly newReferrers: readonly string[];
  readonly newVisitors: NewVisitors;
}

/** Described before they click; whoever comes back over another connection is described again. */
export interface NewVisitors {
  /** Joined by line feeds: one string crosses between threads many times faster than a list of them. */
  readonly addresses: string;
  /** The number of each one's agent. */
  readonly agents: Uint32Array;
}

export const rawBatchTransfers = (batch: RawBatch): ArrayBuffer[] => [
  batch.at.buffer as ArrayBuffer,
  batch.flags.buffer as ArrayBuffer,
  batch.link.buffer as ArrayBuffer,
  batch.visitor.buffer as ArrayBuffer,
  batch.referrer.buffer as ArrayBuffer,
  batch.newVisitors.agents.buffer as ArrayBuffer,
];
