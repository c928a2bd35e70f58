/**
 * Tracks up to when this process's memory is proven to be current. Two sources prove it independently:
 * - The store's change feed: every change committed before a read of the feed is known.
 * - The message channel: each process numbers its change messages and repeats the latest number in a heartbeat. When
 *   the numbers of every known process are contiguous and our own heartbeat comes back, no message was missed. A change
 *   is acknowledged only by a process that reaches the store, and that process publishes it, so the channel is still
 *   proof while this process does not reach the store.
 * A lost message stops the channel's proof until its sender has repeated it. A new process that has already made
 * changes, or an interruption in which a process may have started and ended unnoticed, stops it until the feed has been
 * read again. A process that goes silent without leaving also stops it: it may be partitioned and still change links.
 */
import type { Clock } from '../base/clock.ts';

interface Peer {
  /** The number of its latest change message. */
  changes: number;
  receivedAtMs: number;
  /** The numbers of change messages that did not arrive, and when the latest of them was noticed. */
  readonly missing: Set<number>;
  missedAtMs: number;
}

/** `gap`: messages before this one are missing. `repeat`: this one was received before. */
export type Reception = 'next' | 'gap' | 'repeat';

/** A silent process is removed when the feed has been read for this long without it: it ended without leaving. */
const silentMaxMs = 600_000;
/** A longer interval between two of our own heartbeats is an interruption in which messages may have been missed. */
const interruptionMs = 2_500;
const peersMax = 10_000;
const leftMax = 1_000;
/** More than a sender keeps for repeating. */
export const missingMax = 1_000;

export class Freshness {
  readonly #clock: Clock;
  readonly #isWholeChannel: boolean;
  readonly #peers = new Map<string, Peer>();
  /** Processes that have left, whose last messages may arrive late. */
  readonly #left = new Set<string>();
  #feedProvenAtMs = Number.NEGATIVE_INFINITY;
  /** The channel proves nothing until the feed has been read after this. */
  #brokenAtMs: number;
  /** Every change acknowledged before this is known. Only grows; a plain field because each redirect reads it. */
  provenAtMs = Number.NEGATIVE_INFINITY;
  /** Messages that were found missing, by their numbers. */
  messagesMissed = 0;

  /** `isWholeChannel` is false where other processes change links without publishing on this channel. */
  constructor(clock: Clock, isWholeChannel = true) {
    this.#clock = clock;
    this.#isWholeChannel = isWholeChannel;
    this.#brokenAtMs = clock.monotonicMs();
  }

  /** Processes on the channel, this one included. */
  get peers(): number {
    return this.#peers.size;
  }

  get feedProvenAtMs(): number {
    return this.#feedProvenAtMs;
  }

  /** The time up to which the channel alone proves that nothing was missed. */
  get channelProvenAtMs(): number {
    if (!this.#isWholeChannel || this.#peers.size === 0 || this.#feedProvenAtMs <= this.#brokenAtMs)
      return Number.NEGATIVE_INFINITY;
    let provenAtMs = Number.POSITIVE_INFINITY;
    for (const { receivedAtMs, missing } of this.#peers.values()) {
      if (missing.size > 0) return Number.NEGATIVE_INFINITY;
      provenAtMs = Math.min(provenAtMs, receivedAtMs);
    }
    return provenAtMs;
  }

  /** The numbers of a process's change messages that should be repeated. */
  missingOf(name: string): readonly number[] {
    return [...(this.#peers.get(name)?.missing ?? [])];
  }

  /** Since when no message was lost irrecoverably and no unknown process appeared. */
  get contiguousSinceMs(): number {
    return this.#brokenAtMs;
  }

  /** Every change committed before this moment is known. */
  proveByFeed(atMs: number): void {
    this.#feedProvenAtMs = Math.max(this.#feedProvenAtMs, atMs);
    for (const [name, { receivedAtMs, missing, missedAtMs }] of this.#peers) {
      if (missing.size > 0 && missedAtMs < atMs) {
        missing.clear();
        // The feed has the missed changes of links, but not of accounts: copies of these from before stay doubtful.
        this.#brokenAtMs = Math.max(this.#brokenAtMs, missedAtMs);
      }
      if (atMs - receivedAtMs > silentMaxMs) {
        this.#peers.delete(name);
        // It may have changed accounts that no message named.
        this.#brokenAtMs = Math.max(this.#brokenAtMs, atMs);
      }
    }
    this.#advance();
  }

  hearChange(name: string, number: number): Reception {
    if (this.#left.has(name)) return 'next';
    const peer = this.#peers.get(name);
    if (peer === undefined) return this.#meet(name, number, number === 1) ? 'next' : 'gap';
    if (peer.missing.delete(number)) {
      this.#advance();
      return 'next';
    }
    if (number <= peer.changes) return 'repeat';
    const isNext = number === peer.changes + 1;
    if (!isNext) this.#miss(peer, number - 1);
    peer.changes = number;
    return isNext ? 'next' : 'gap';
  }

  /** Our own heartbeat has come back: our reception was intact up to the time it was sent. */
  hearOwnBeat(name: string, sentAtMs: number): void {
    const lastSentMs = this.#peers.get(name)?.receivedAtMs;
    // Messages may have been missed before the first heartbeat, or since we were removed for our own silence.
    if (lastSentMs === undefined || sentAtMs - lastSentMs > interruptionMs) this.#lose();
    this.#hearBeat(name, 0, sentAtMs);
  }

  /** False when change messages before it are missing. */
  hearBeat(name: string, changes: number): boolean {
    return this.#left.has(name) || this.#hearBeat(name, changes, this.#clock.monotonicMs());
  }

  #hearBeat(name: string, changes: number, receivedAtMs: number): boolean {
    const peer = this.#peers.get(name);
    if (peer === undefined) {
      const isKnown = this.#meet(name, changes, changes === 0, receivedAtMs);
      this.#advance();
      return isKnown;
    }
    if (changes > peer.changes) this.#miss(peer, changes);
    peer.changes = Math.max(peer.changes, changes);
    peer.receivedAtMs = Math.max(peer.receivedAtMs, receivedAtMs);
    this.#advance();
    return peer.missing.size === 0;
  }

  /** The process ends, and will change nothing more. */
  leave(name: string, changes: number): boolean {
    const isContiguous = this.hearBeat(name, changes);
    // No other process can repeat its messages.
    if (!isContiguous) this.#lose();
    this.#peers.delete(name);
    this.#left.add(name);
    if (this.#left.size > leftMax) this.#left.delete(this.#left.values().next().value!);
    return isContiguous;
  }

  /** Changes that a process made before its first message are known only if it reports that it made none. */
  #meet(
    name: string,
    changes: number,
    isFromStart: boolean,
    receivedAtMs = this.#clock.monotonicMs(),
  ): boolean {
    const isFull = this.#peers.size >= peersMax;
    if (!isFromStart || isFull) this.#lose();
    if (!isFull)
      this.#peers.set(name, {
        changes,
        receivedAtMs,
        missing: new Set(),
        missedAtMs: Number.NEGATIVE_INFINITY,
      });
    return isFromStart;
  }

  #miss(peer: Peer, upTo: number): void {
    this.messagesMissed += upTo - peer.changes;
    peer.missedAtMs = this.#clock.monotonicMs();
    if (peer.missing.size + upTo - peer.changes > missingMax) {
      peer.missing.clear();
      this.#lose();
    } else for (let number = peer.changes + 1; number <= upTo; number += 1) peer.missing.add(number);
  }

  /** Changes were missed, and only the feed has them. */
  #lose(): void {
    this.#brokenAtMs = this.#clock.monotonicMs();
  }

  #advance(): void {
    this.provenAtMs = Math.max(this.provenAtMs, this.#feedProvenAtMs, this.channelProvenAtMs);
  }
}
