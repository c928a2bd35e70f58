/**
 * New links that are durable in the queue and not yet in the store, where every process finds them. One port, several
 * drivers; `pending.conformance.ts` is the meaning of this file.
 *
 * A record is written before its link is queued and removed after its link is stored, so whoever finds neither a
 * record nor, afterwards, a row may say that there is no such link. It is never the only copy of a link that anyone was
 * told of, and it ends by itself: one whose link was never queued, or whose removal was lost, goes at its time.
 */
import type { Link } from './link.ts';

export interface PendingLinks {
  /** Rejects when it is not certain that every process finds all of them. */
  put(links: readonly Link[]): Promise<void>;
  /** Rejects when it cannot be known whether there is a record. */
  find(code: string): Promise<Link | undefined>;
  remove(codes: readonly string[]): Promise<void>;
  /** The records were out of reach, or in danger, and are in use from now on: some may be missing. */
  onReturn(listener: () => void): void;
}

/**
 * Counted from when the link was made, and not from when the record was written: so an expired link, which is purged no
 * sooner than this after its expiry, cannot come back to life by a record that was left over.
 */
export const pendingLifeMs = 7 * 24 * 60 * 60 * 1_000;

export const pendingLeftMs = ({ createdAt }: Link, now: number): number => createdAt + pendingLifeMs - now;
