/**
 * The threat lists of this process, and the step from one state of a list to the next.
 * Invariant: a list that the server has not confirmed for thirty minutes matches nothing, because a site may have been
 * cleaned since; and a list only ever becomes what the server's checksum says it is.
 */
import { createHash } from 'node:crypto';
import { yieldToEventLoop } from '../../base/clock.ts';
import type { HeldList, ListUpdate } from './client.ts';
import { malformed, SafeBrowsingFault } from './fault.ts';

export interface ThreatList extends HeldList {
  readonly prefixes: PrefixList;
  /** When the server last confirmed the list. */
  readonly updatedAt: number;
  /** The server must not be asked before then. */
  readonly nextUpdateAt: number;
}

/** All threats to people who follow links, on any platform. Every list has four-byte prefixes. */
export const listNames: readonly string[] = ['se-4b', 'mw-4b', 'uws-4b', 'uwsa-4b', 'pha-4b'];
/** A list that was not confirmed for this long no longer blocks anything. */
const listAgeMaxMs = 30 * 60_000;
/** A clock that was set back by less than this was merely corrected. */
const clockSkewMaxMs = 60_000;
/** 64 MB in memory at worst; today's largest list has a few hundred thousand. */
export const prefixesMax = 16 * 1024 * 1024;
const sliceEntries = 256 * 1024;

export class ThreatLists {
  #lists: ReadonlyMap<string, ThreatList> = new Map();
  /** Increases whenever a list's contents change. */
  generation = 0;

  get all(): readonly ThreatList[] {
    return [...this.#lists.values()];
  }

  find(name: string): ThreatList | undefined {
    return this.#lists.get(name);
  }

  /** Replaces all lists by these. */
  replace(lists: readonly ThreatList[]): void {
    const isChanged =
      lists.length !== this.#lists.size ||
      lists.some(({ name, version }) => !sameBytes(version, this.#lists.get(name)?.version));
    this.#lists = new Map(lists.map(list => [list.name, list]));
    if (isChanged) this.generation += 1;
  }

  isFresh(now: number): boolean {
    return this.all.some(list => isFreshList(list, now));
  }

  /** Whether a list that is not stale has a prefix of this SHA-256. */
  matches(hash: Uint8Array, now: number): boolean {
    for (const list of this.#lists.values()) {
      if (isFreshList(list, now) && list.prefixes.matches(hash)) return true;
    }
    return false;
  }
}

export function isFreshList({ updatedAt }: ThreatList, now: number): boolean {
  return now - updatedAt <= listAgeMaxMs && updatedAt - now <= clockSkewMaxMs;
}

/** A list from the future is due, because then its times mean nothing. */
export function isDue(list: ThreatList | undefined, now: number): boolean {
  return list === undefined || list.nextUpdateAt <= now || list.updatedAt - now > clockSkewMaxMs;
}

/** The updated list; rejects with a `SafeBrowsingFault` when it does not match the server's checksum. */
export async function updatedPrefixes(list: ThreatList | undefined, update: ListUpdate): Promise<PrefixList> {
  const { kind, removals, additions, checksum, version } = update;
  const before = list?.prefixes ?? new PrefixList();
  const hasChanges = removals.length + additions.length > 0;
  // No checksum means that there is nothing new, perhaps without calling it partial.
  if (checksum === undefined && !hasChanges && sameBytes(version, list?.version)) return before;
  const after = await (kind === 'full' ? new PrefixList() : before).updated(removals, additions);
  if (checksum === undefined || !(await after.checksum()).equals(checksum)) {
    throw new SafeBrowsingFault('mismatch', `the list ${update.name} does not have its checksum`);
  }
  return after;
}

/**
 * The hash prefixes of one threat list: the first four bytes of each SHA-256 as a big-endian number, ascending, because
 * removals name positions in that order and the checksum runs over it. A list is immutable; an update makes another.
 */
export class PrefixList {
  readonly numbers: Uint32Array;

  constructor(numbers: Uint32Array = new Uint32Array()) {
    this.numbers = numbers;
  }

  get size(): number {
    return this.numbers.length;
  }

  /** Whether the list has the prefix of this SHA-256. */
  matches(hash: Uint8Array): boolean {
    const start = firstFour(hash);
    return this.numbers[placeOf(start, this.numbers)] === start;
  }

  /** Removes the entries at these ascending positions, then adds the ascending additions. */
  async updated(removals: Uint32Array, additions: Uint32Array): Promise<PrefixList> {
    if (this.size - removals.length + additions.length > prefixesMax) {
      throw malformed('the list would grow too long');
    }
    let last = -1;
    for (const position of removals) {
      if (position <= last || position >= this.size) throw malformed('a removal names no entry of the list');
      last = position;
    }
    const kept = withoutPositions(this.numbers, removals);
    await yieldToEventLoop();
    return new PrefixList(merged(kept, additions));
  }

  /** The SHA-256 of all prefixes, one after the other. */
  async checksum(): Promise<Buffer> {
    const digest = createHash('sha256');
    for (let start = 0; start < this.size; start += sliceEntries) {
      const slice = this.numbers.slice(start, start + sliceEntries);
      digest.update(Buffer.from(slice.buffer).swap32());
      await yieldToEventLoop();
    }
    return digest.digest();
  }
}

export function firstFour(bytes: Uint8Array): number {
  return ((bytes[0]! << 24) | (bytes[1]! << 16) | (bytes[2]! << 8) | bytes[3]!) >>> 0;
}

export function fourBytesOf(prefix: number): Uint8Array {
  return Uint8Array.of(prefix >>> 24, (prefix >>> 16) & 0xff, (prefix >>> 8) & 0xff, prefix & 0xff);
}

/** The position of the first number that is not smaller. */
function placeOf(wanted: number, sorted: Uint32Array): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (sorted[middle]! < wanted) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Few are removed or added compared with the total, so whole runs are copied. The positions ascend. */
function withoutPositions(numbers: Uint32Array, positions: Uint32Array): Uint32Array {
  const kept = new Uint32Array(numbers.length - positions.length);
  let [from, to] = [0, 0];
  for (const position of [...positions, numbers.length]) {
    const run = numbers.subarray(from, position);
    kept.set(run, to);
    to += run.length;
    from = position + 1;
  }
  return kept;
}

/** Both ascend, and so does the result. */
function merged(numbers: Uint32Array, additions: Uint32Array): Uint32Array {
  if (numbers.length === 0) return additions.slice();
  const both = new Uint32Array(numbers.length + additions.length);
  let [from, to] = [0, 0];
  for (const addition of additions) {
    const place = from + placeOf(addition, numbers.subarray(from));
    both.set(numbers.subarray(from, place), to);
    to += place - from;
    from = place;
    both[to] = addition;
    to += 1;
  }
  both.set(numbers.subarray(from), to);
  return both;
}

function sameBytes(left: Uint8Array, right: Uint8Array | undefined): boolean {
  return right !== undefined && Buffer.compare(left, right) === 0;
}
