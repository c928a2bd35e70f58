/**
 * The threat lists of this process, and the step from one state of a list to the next.
 * Invariant: a list that the server has not confirmed for thirty minutes matches nothing, because what was true of a
 * site then need not be true now; and a list only ever becomes what the server's checksum says it is.
 */
import type { HeldList, ListUpdate } from './api.ts';
import { SafeBrowsingFault } from './fault.ts';
import { listAgeMaxMs } from './limits.ts';
import { PrefixList } from './prefix-list.ts';

export interface ThreatList extends HeldList {
  readonly prefixes: PrefixList;
  /** When the server last said that the list is as it should be. */
  readonly updatedAt: number;
  /** The server wants to be left alone until then. */
  readonly nextUpdateAt: number;
}

/** A clock that was set back by less than this is one that was set right. */
const clockSkewMaxMs = 60_000;

export class ThreatLists {
  #lists: ReadonlyMap<string, ThreatList> = new Map();
  /** Grows whenever a list has other contents than before. */
  generation = 0;

  get all(): readonly ThreatList[] {
    return [...this.#lists.values()];
  }

  find(name: string): ThreatList | undefined {
    return this.#lists.get(name);
  }

  /** Puts these in the place of all there were. */
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

  /** Whether a list that may still be believed has a prefix of this SHA-256. */
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

/** What the update makes of the list; rejects with a `SafeBrowsingFault` when that is not what the server meant. */
export async function updatedPrefixes(list: ThreatList | undefined, update: ListUpdate): Promise<PrefixList> {
  const { kind, removals, additions, checksum, version } = update;
  const before = list?.prefixes ?? new PrefixList();
  const changes = removals.length + additions.fourByte.length + additions.longer.length;
  // Without a checksum the server says that there is nothing new, in version 5 perhaps without calling it partial.
  if (checksum === undefined && changes === 0 && sameBytes(version, list?.version)) return before;
  const after = await (kind === 'full' ? new PrefixList() : before).updated(removals, additions);
  if (checksum === undefined || !(await after.checksum()).equals(checksum)) {
    throw new SafeBrowsingFault('mismatch', `the list ${update.name} does not have its checksum`);
  }
  return after;
}

function sameBytes(left: Uint8Array, right: Uint8Array | undefined): boolean {
  return right !== undefined && Buffer.compare(left, right) === 0;
}
