/**
 * The part of a code space that a region leases its ids from. Regions give no code twice even while their stores cannot
 * reach each other, because no id belongs to two of them. The first region's part begins at 0, where an installation
 * without regions begins too, so becoming one of several moves nothing.
 */
export interface IdShare {
  readonly first: number;
  /** Exclusive. */
  readonly limit: number;
}

export interface Region {
  /** From 1 on. */
  readonly number: number;
  readonly count: number;
}

export const regionsMax = 64;

/** Stores may keep ids in blocks of this size; a block belongs to one share. */
export const blockIds = 1_000;

/** Parses a share such as `2/4`: the second of four. */
export function parseRegion(text: string): Region | undefined {
  const [, number, count] = /^([1-9]\d?)\/([1-9]\d?)$/.exec(text) ?? [];
  const region = { number: Number(number), count: Number(count) };
  return region.number <= region.count && region.count <= regionsMax ? region : undefined;
}

/** Parts are equal and whole blocks, except for the last, which also has the remainder. */
export function shareOf({ number, count }: Region, size: number): IdShare {
  const each = Math.floor(size / count / blockIds) * blockIds;
  return { first: each * (number - 1), limit: number === count ? size : each * number };
}
