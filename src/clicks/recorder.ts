/**
 * Notes clicks on the redirect's thread, and does nothing else there: a few numbers into preallocated columns.
 * Every so often the columns go to the click thread in one message. When that thread cannot keep up, the oldest
 * clicks are overwritten; each click has a number, so what was lost shows as a gap that anyone can count.
 */
import type { Clock } from '../base/clock.ts';
import type { LinkEntry } from './batch.ts';
import { Interner } from './interner.ts';
import type { NotedVisitor } from './noted-visitor.ts';
import type { RawBatch } from './raw-batch.ts';

export interface RecorderOptions {
  readonly clock: Clock;
  readonly send: (batch: RawBatch) => void;
  /** Where the newest number is kept in case the process is killed; see producer-heads.ts. */
  readonly head: { note(sequence: number, at: number): void };
  readonly capacity?: number;
  readonly flushMs?: number;
}

export type RecordedLink = LinkEntry & { readonly version: number };

const capacityDefault = 65_536;
const flushMsDefault = 200;
/** A full message: enough to amortise the hand-over, little enough to copy within a tenth of a millisecond. */
const batchMax = 8_192;
/** Messages the click thread may be behind before clicks wait here. */
const inFlightMax = 4;
/** Strings remembered before the numbering starts anew. */
const stringsMax = 50_000;
/** Even when nothing can be sent for long, no more than this many of each kind are held. */
const internedMax = 100_000;
const agentLengthMax = 512;
const referrerLengthMax = 1_024;

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #capacity: number;
  readonly #at: Float64Array;
  readonly #flags: Uint8Array;
  readonly #link: Uint32Array;
  readonly #visitor: Uint32Array;
  readonly #referrer: Uint32Array;
  readonly #links = new Map<string, { number: number; version: number }>();
  readonly #agents = new Interner(agentLengthMax, internedMax);
  readonly #referrers = new Interner(referrerLengthMax, internedMax);
  readonly #stopTimer: () => void;
  #freshLinks: LinkEntry[] = [];
  #linkCount = 0;
  #freshAddresses: string[] = [];
  #freshVisitorAgents: number[] = [];
  #visitorCount = 0;
  /** Grows when all numbers start anew. */
  #numbering = 1;
  /** Number of the newest click, and of the newest that was sent or overwritten. */
  #sequence = 0;
  #sent = 0;
  #inFlight = 0;
  /** A flush came while the click thread was behind: it is made up for when that takes a message. */
  #flushIsDue = false;
  #forgetStrings = true;
  /** Clicks overwritten before they could be sent. */
  dropped = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#capacity = options.capacity ?? capacityDefault;
    this.#at = new Float64Array(this.#capacity);
    this.#flags = new Uint8Array(this.#capacity);
    this.#link = new Uint32Array(this.#capacity);
    this.#visitor = new Uint32Array(this.#capacity);
    this.#referrer = new Uint32Array(this.#capacity);
    this.#stopTimer = options.clock.every(options.flushMs ?? flushMsDefault, () => this.flush());
  }

  /** Clicks noted so far, whatever became of them. */
  get recorded(): number {
    return this.#sequence;
  }

  get pending(): number {
    return this.#sequence - this.#sent;
  }

  /** `flags` are those of the visitor with what the request adds to them. */
  record(link: RecordedLink, visitor: NotedVisitor, at: number, flags: number): void {
    // What cannot be told to the click thread must not pile up.
    if (this.#freshLinks.length >= internedMax || this.#freshAddresses.length >= internedMax)
      this.#dropPending();
    const linkNumber = this.#linkNumber(link);
    if (visitor.numbering !== this.#numbering) this.#describe(visitor);
    if (this.#sequence - this.#sent === this.#capacity) {
      this.#sent += 1;
      this.dropped += 1;
    }
    const slot = this.#sequence % this.#capacity;
    this.#sequence += 1;
    this.#at[slot] = at;
    this.#flags[slot] = flags;
    this.#link[slot] = linkNumber;
    this.#visitor[slot] = visitor.number;
    this.#referrer[slot] = visitor.referrerNumber;
    this.#options.head.note(this.#sequence, at);
    if (this.#sequence - this.#sent >= batchMax) this.flush();
  }

  /** Sends what is pending, unless the click thread is behind. */
  flush(): void {
    const count = Math.min(this.pending, batchMax);
    this.#flushIsDue = count > 0 && this.#inFlight >= inFlightMax;
    if (count === 0 || this.#flushIsDue) return;
    const from = this.#sent % this.#capacity;
    const batch: RawBatch = {
      firstSequence: this.#sent + 1,
      at: ringSlice(this.#at, from, count),
      flags: ringSlice(this.#flags, from, count),
      link: ringSlice(this.#link, from, count),
      visitor: ringSlice(this.#visitor, from, count),
      referrer: ringSlice(this.#referrer, from, count),
      forgetStrings: this.#forgetStrings,
      newLinks: this.#freshLinks,
      newAgents: this.#agents.takeFresh(),
      newReferrers: this.#referrers.takeFresh(),
      newVisitors: {
        addresses: this.#freshAddresses.join('\n'),
        agents: Uint32Array.from(this.#freshVisitorAgents),
      },
    };
    this.#freshLinks = [];
    this.#freshAddresses = [];
    this.#freshVisitorAgents = [];
    this.#forgetStrings = false;
    this.#sent += count;
    this.#inFlight += 1;
    this.#options.send(batch);
    if (this.pending > 0) this.flush();
    else if (this.#known > stringsMax) this.#startAnew();
  }

  /** The click thread has taken one message off our hands. */
  acknowledge(): void {
    this.#inFlight -= 1;
    if (this.#flushIsDue || this.pending >= batchMax) this.flush();
  }

  /** The click thread is gone, and with it what it had not stored; the next one knows no strings. */
  threadLost(): void {
    this.#inFlight = 0;
    this.#dropPending();
  }

  /** Stops the timer; what is pending is sent by a last `flush` once messages are acknowledged. */
  close(): void {
    this.#stopTimer();
    this.flush();
  }

  #dropPending(): void {
    this.dropped += this.pending;
    this.#sent = this.#sequence;
    this.#startAnew();
  }

  #linkNumber(link: RecordedLink): number {
    const known = this.#links.get(link.code);
    if (known !== undefined && known.version === link.version) return known.number;
    const number = this.#linkCount;
    this.#linkCount += 1;
    this.#links.set(link.code, { number, version: link.version });
    this.#freshLinks.push({ code: link.code, ownerId: link.ownerId, tags: link.tags });
    return number;
  }

  #describe(visitor: NotedVisitor): void {
    visitor.number = this.#visitorCount;
    visitor.referrerNumber = this.#referrers.numberOf(visitor.referrer);
    visitor.numbering = this.#numbering;
    this.#visitorCount += 1;
    this.#freshAddresses.push(visitor.address);
    this.#freshVisitorAgents.push(this.#agents.numberOf(visitor.agent));
  }

  get #known(): number {
    return this.#links.size + this.#agents.size + this.#referrers.size + this.#visitorCount;
  }

  /** Only while nothing is pending, because pending clicks hold numbers of the old count. */
  #startAnew(): void {
    this.#links.clear();
    this.#freshLinks = [];
    this.#linkCount = 0;
    this.#freshAddresses = [];
    this.#freshVisitorAgents = [];
    this.#visitorCount = 0;
    this.#numbering += 1;
    this.#agents.clear();
    this.#referrers.clear();
    this.#forgetStrings = true;
  }
}

/** A copy of `count` elements from `from` on, going around the end. */
function ringSlice<Column extends Float64Array | Uint8Array | Uint32Array>(
  ring: Column,
  from: number,
  count: number,
): Column {
  const end = from + count;
  if (end <= ring.length) return ring.slice(from, end) as Column;
  const copy = new (ring.constructor as new (length: number) => Column)(count);
  copy.set(ring.subarray(from));
  copy.set(ring.subarray(0, end - ring.length), ring.length - from);
  return copy;
}
