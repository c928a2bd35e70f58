/**
 * Records clicks on the redirect's thread, as a few numbers in preallocated columns. Several times a second the columns
 * are sent to the click thread in one message. When that thread cannot keep up, the oldest clicks are overwritten; each
 * click has a number, so a loss shows as a gap that can be counted.
 */
import type { Clock } from '../base/clock.ts';
import {
  type DescribedLink,
  Interner,
  internedMax,
  NewLinkList,
  type NewLinks,
  queryLengthMax,
} from './new-links.ts';

export interface RecorderOptions {
  readonly clock: Clock;
  readonly send: (batch: RawBatch) => void;
  /** Keeps the newest number in case the process is killed; see log-folder.ts. */
  readonly head: { note(sequence: number, at: number): void };
  readonly capacity?: number;
  readonly flushMs?: number;
}

/** Links in memory, each with a number that is valid in one numbering; numbering 0 is never used. */
export interface NumberedLinks {
  link(entry: number): RecordedLink | undefined;
  clickNumbering(entry: number): number;
  clickNumber(entry: number): number;
  setClickNumber(entry: number, numbering: number, number: number): void;
}

export type RecordedLink = DescribedLink & { readonly version: number };

const capacityDefault = 65_536;
const flushMsDefault = 200;
/** A full message: large enough to amortise sending it, small enough to copy within a tenth of a millisecond. */
const batchMax = 8_192;
/** Messages the click thread may be behind before clicks wait here. */
const inFlightMax = 4;
/** Strings remembered before the numbering restarts. */
const stringsMax = 50_000;
const agentLengthMax = 512;
const referrerLengthMax = 1_024;
/** Only the first language counts. */
const languageLengthMax = 32;

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #capacity: number;
  readonly #at: Float64Array;
  readonly #flags: Uint8Array;
  readonly #link: Uint32Array;
  readonly #visitor: Uint32Array;
  readonly #referrer: Uint32Array;
  readonly #query: Uint32Array;
  readonly #linkNumbers = new Map<string, number>();
  readonly #links = new NewLinkList();
  readonly #agents = new Interner(agentLengthMax, internedMax);
  readonly #referrers = new Interner(referrerLengthMax, internedMax);
  readonly #languages = new Interner(languageLengthMax, internedMax);
  readonly #queries = new Interner(queryLengthMax, internedMax);
  readonly #stopTimer: () => void;
  /** The version of each link by its number. */
  #linkVersions: number[] = [];
  #freshAddresses: string[] = [];
  #freshVisitorAgents: number[] = [];
  #freshVisitorLanguages: number[] = [];
  #visitorCount = 0;
  /** The last visitor from each address: most clients that open many connections stay the same. */
  readonly #lastFrom = new Map<string, { number: number; agent: number; language: number }>();
  /** Whether a pending click has a query. */
  #hasQueries = false;
  /** Incremented when the numbering restarts. */
  #numbering = 1;
  /** The number of the newest click, and of the newest that was sent or overwritten. */
  #sequence = 0;
  #sent = 0;
  #inFlight = 0;
  /** A flush came while the click thread was behind: it is repeated when that thread takes a message. */
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
    this.#query = new Uint32Array(this.#capacity);
    this.#stopTimer = options.clock.every(options.flushMs ?? flushMsDefault, () => this.flush());
  }

  /** Clicks recorded so far, including dropped ones. */
  get recorded(): number {
    return this.#sequence;
  }

  get pending(): number {
    return this.#sequence - this.#sent;
  }

  /** `flags` are those of the visitor and of the request; `query` is that of the short URL. */
  record(link: RecordedLink, visitor: ConnectionVisitor, at: number, flags: number, query: string): void {
    this.#makeRoom();
    this.#append(this.#linkNumber(link), visitor, at, flags, query);
  }

  /** The same for a link in memory, which remembers its number. */
  recordEntry(
    links: NumberedLinks,
    entry: number,
    visitor: ConnectionVisitor,
    at: number,
    flags: number,
    query: string,
  ): void {
    this.#makeRoom();
    if (links.clickNumbering(entry) !== this.#numbering)
      links.setClickNumber(entry, this.#numbering, this.#linkNumber(links.link(entry)!));
    this.#append(links.clickNumber(entry), visitor, at, flags, query);
  }

  /** Strings that cannot be sent to the click thread must not pile up. */
  #makeRoom(): void {
    if (this.#links.count >= internedMax || this.#freshAddresses.length >= internedMax) this.#dropPending();
  }

  #append(linkNumber: number, visitor: ConnectionVisitor, at: number, flags: number, query: string): void {
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
    this.#query[slot] = query === '' ? 0 : this.#queryNumber(query);
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
      query: this.#hasQueries ? ringSlice(this.#query, from, count) : new Uint32Array(0),
      forgetStrings: this.#forgetStrings,
      newLinks: this.#links.take(),
      newAgents: this.#agents.takeFresh(),
      newReferrers: this.#referrers.takeFresh(),
      newLanguages: this.#languages.takeFresh(),
      newQueries: this.#queries.takeFresh(),
      newVisitors: {
        addresses: this.#freshAddresses.join('\n'),
        agents: new Uint32Array(this.#freshVisitorAgents),
        languages: new Uint32Array(this.#freshVisitorLanguages),
      },
    };
    this.#forgetFreshVisitors();
    this.#forgetStrings = false;
    this.#sent += count;
    this.#inFlight += 1;
    this.#options.send(batch);
    if (this.pending > 0) this.flush();
    else {
      this.#hasQueries = false;
      if (this.#known > stringsMax) this.#restart();
    }
  }

  /** The click thread has acknowledged one message. */
  acknowledge(): void {
    this.#inFlight -= 1;
    if (this.#flushIsDue || this.pending >= batchMax) this.flush();
  }

  /** The click thread has died with the clicks that it had not stored; the next one knows no strings. */
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
    this.#restart();
  }

  #linkNumber(link: RecordedLink): number {
    const known = this.#linkNumbers.get(link.code);
    if (known !== undefined && this.#linkVersions[known] === link.version) return known;
    const number = this.#linkVersions.push(link.version) - 1;
    this.#linkNumbers.set(link.code, number);
    this.#links.add(link);
    return number;
  }

  /** Queries that statistics do not use are often unique, such as click ids, and would only fill the memory. */
  #queryNumber(query: string): number {
    if (!usedInQuery.test(query)) return 0;
    this.#hasQueries = true;
    return this.#queries.numberOf(query);
  }

  #describe(visitor: ConnectionVisitor): void {
    visitor.referrerNumber = this.#referrers.numberOf(visitor.referrer);
    visitor.numbering = this.#numbering;
    const agent = this.#agents.numberOf(visitor.agent);
    const language = this.#languages.numberOf(visitor.language);
    const last = this.#lastFrom.get(visitor.address);
    if (last !== undefined && last.agent === agent && last.language === language) {
      visitor.number = last.number;
      return;
    }
    visitor.number = this.#visitorCount;
    this.#visitorCount += 1;
    this.#lastFrom.set(visitor.address, { number: visitor.number, agent, language });
    this.#freshAddresses.push(visitor.address);
    this.#freshVisitorAgents.push(agent);
    this.#freshVisitorLanguages.push(language);
  }

  #forgetFreshVisitors(): void {
    this.#freshAddresses = [];
    this.#freshVisitorAgents = [];
    this.#freshVisitorLanguages = [];
  }

  get #known(): number {
    const strings = [this.#agents, this.#referrers, this.#languages, this.#queries];
    return strings.reduce((sum, { size }) => sum + size, this.#linkVersions.length + this.#visitorCount);
  }

  /** Only while nothing is pending, because pending clicks have numbers of the old numbering. */
  #restart(): void {
    this.#linkNumbers.clear();
    this.#linkVersions = [];
    this.#forgetFreshVisitors();
    this.#visitorCount = 0;
    this.#lastFrom.clear();
    this.#numbering += 1;
    this.#hasQueries = false;
    for (const strings of [this.#links, this.#agents, this.#referrers, this.#languages, this.#queries])
      strings.clear();
    this.#forgetStrings = true;
  }
}

/** A copy of `count` elements from `from` on, wrapping around the end. */
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

/**
 * The message from the redirect's thread to the click thread: columns, with each string sent only once and a number
 * afterwards. Visitors' addresses are in here and in no later form of a click.
 */
export interface RawBatch {
  readonly firstSequence: number;
  readonly at: Float64Array;
  readonly flags: Uint8Array;
  readonly link: Uint32Array;
  readonly visitor: Uint32Array;
  readonly referrer: Uint32Array;
  /** Empty when no visit has a query. */
  readonly query: Uint32Array;
  /** True when the numbering of strings restarts with this batch. */
  readonly forgetStrings: boolean;
  /** Numbered after those that were sent before. */
  readonly newLinks: NewLinks;
  readonly newAgents: readonly string[];
  readonly newReferrers: readonly string[];
  readonly newLanguages: readonly string[];
  readonly newQueries: readonly string[];
  readonly newVisitors: NewVisitors;
}

/** A visitor is described before the first click, and again after another visitor from the same address. */
export interface NewVisitors {
  /** Joined by line feeds: one string crosses between threads many times faster than a list of them. */
  readonly addresses: string;
  /** The number of each visitor's agent, and of its language. */
  readonly agents: Uint32Array;
  readonly languages: Uint32Array;
}

export const rawBatchTransfers = (batch: RawBatch): ArrayBuffer[] =>
  [
    batch.at,
    batch.flags,
    batch.link,
    batch.visitor,
    batch.referrer,
    batch.query,
    batch.newLinks.codes.lengths,
    batch.newLinks.codes.bytes,
    batch.newLinks.owners,
    batch.newLinks.labels,
    batch.newVisitors.agents,
    batch.newVisitors.languages,
  ].map(({ buffer }) => buffer as ArrayBuffer);

/**
 * The visitor on a connection, as its headers describe them. The redirect keeps one of these while the headers stay the
 * same, so that a further click costs only two numbers.
 */
export class ConnectionVisitor {
  readonly address: string;
  readonly agent: string;
  readonly referrer: string;
  /** Bits of `visitFlag` that follow from the headers. */
  readonly flags: number;
  /** The header Accept-Language. */
  readonly language: string;
  /** The numbers below are the recorder's, and valid only in this numbering. */
  numbering = 0;
  number = 0;
  referrerNumber = 0;

  constructor(address: string, agent: string, referrer: string, flags: number, language: string) {
    this.address = address;
    this.agent = agent;
    this.referrer = referrer;
    this.flags = flags;
    this.language = language;
  }
}

/** Matches the parameters that steps/visit.ts reads. */
const usedInQuery = /utm_|(?:^|&)qr(?:[=&]|$)/;
