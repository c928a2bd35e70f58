/** Records in memory, for tests and for trying Terse out. Link writes in memory carry records through `write`. */
import type { Clock } from '../../base/clock.ts';
import {
  cursorOf,
  type FoundRecord,
  type Position,
  pageOf,
  positionOf,
  type RecordKind,
  type RecordPlace,
  type RecordState,
  type RecordStore,
  type RecordWrite,
  type Stored,
  storedOf,
} from '../record-store.ts';

export interface MemoryRecords extends RecordStore {
  /** Makes all of the writes, or returns false and makes none. */
  write(writes: readonly RecordWrite[]): boolean;
}

interface Entry extends RecordState {
  readonly key: string;
  readonly places: readonly RecordPlace[];
}

export function createMemoryRecords(clock: Pick<Clock, 'now'>): MemoryRecords {
  const kinds = new Map<string, Map<string, Entry>>();
  const entriesOf = (kind: string): Map<string, Entry> => {
    const entries = kinds.get(kind) ?? new Map<string, Entry>();
    kinds.set(kind, entries);
    return entries;
  };
  const isLive = ({ expiresAt }: Entry): boolean => expiresAt === null || expiresAt > clock.now();
  const find = (kind: string, key: string): Entry | undefined => {
    const entry = kinds.get(kind)?.get(key);
    return entry !== undefined && isLive(entry) ? entry : undefined;
  };
  const stored = <Value>({ name }: RecordKind<Value>, key: string): Stored<Value> | undefined => {
    const entry = find(name, key);
    return entry && storedOf(entry);
  };

  const write = (writes: readonly RecordWrite[]): boolean => {
    if (writes.some(({ kind, key, expected }) => (find(kind, key)?.version ?? null) !== expected))
      return false;
    for (const each of writes) refuseLocked(find(each.kind, each.key), each, clock.now());
    for (const each of writes) {
      const entries = entriesOf(each.kind);
      const before = find(each.kind, each.key);
      if (each.put === null) entries.delete(each.key);
      if (each.put) entries.set(each.key, { ...each.put, key: each.key, places: placesAfter(before, each) });
    }
    return true;
  };

  return {
    write,
    get: async (kind, key) => stored(kind, key),
    getMany: async (kind, keys) => keys.map(key => stored(kind, key)),
    async query(kind, index, { partition, from, to, descending = false }, { limit, cursor }) {
      const after = cursor === undefined ? undefined : positionOf(cursor);
      const sign = descending ? -1 : 1;
      const found: FoundRecord[] = [...entriesOf(kind.name).values()]
        .filter(isLive)
        .flatMap(({ places, ...entry }) =>
          places
            .filter(place => place.index === index && place.partition === partition)
            .map(place => ({ ...entry, ...place })),
        )
        .filter(({ sort }) => from === undefined || compareTexts(sort, from) >= 0)
        .filter(({ sort }) => to === undefined || compareTexts(sort, to) < 0)
        .filter(each => after === undefined || sign * comparePositions(each, after) > 0)
        .sort((one, other) => sign * comparePositions(one, other));
      return pageOf(kind, index, partition, found.slice(0, limit + 1), limit);
    },
    transact: async writes => (write(writes) ? 'done' : 'conflict'),
    async walk({ limit, cursor }) {
      const after = cursor === undefined ? undefined : positionOf(cursor);
      const rest = [...kinds]
        .flatMap(([kind, entries]) => [...entries.values()].filter(isLive).map(entry => ({ kind, entry })))
        .map(({ kind, entry: { key, value, expiresAt } }) => ({ kind, key, value, expiresAt, sort: kind }))
        .filter(each => after === undefined || comparePositions(each, after) > 0)
        .sort(comparePositions);
      const records = rest.slice(0, limit).map(({ sort: _sort, ...record }) => record);
      return { records, next: rest.length > limit ? cursorOf(rest[limit - 1]!) : undefined };
    },
    async removeExpired(limit) {
      let removed = 0;
      for (const entries of kinds.values()) {
        for (const [key, entry] of entries) {
          if (removed === limit || isLive(entry)) continue;
          entries.delete(key);
          removed += 1;
        }
      }
      return removed;
    },
  };
}

function refuseLocked(before: Entry | undefined, { kind, put }: RecordWrite, now: number): void {
  const lockedUntil = before?.lockedUntil ?? null;
  const isRefused = lockedUntil !== null && put !== undefined && (put !== null || lockedUntil > now);
  if (isRefused) throw new Error(`records of ${kind} are append-only`);
}

function placesAfter(before: Entry | undefined, { addedPlaces, removedPlaces }: RecordWrite): RecordPlace[] {
  const isIn = (places: readonly RecordPlace[], place: RecordPlace): boolean =>
    places.some(
      each => each.index === place.index && each.partition === place.partition && each.sort === place.sort,
    );
  const kept = (before?.places ?? []).filter(
    place => !isIn(removedPlaces, place) && !isIn(addedPlaces, place),
  );
  return [...kept, ...addedPlaces];
}

/** As the engines compare: byte by byte. */
const compareTexts = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other));

const comparePositions = (one: Position, other: Position): number =>
  compareTexts(one.sort, other.sort) || compareTexts(one.key, other.key);
