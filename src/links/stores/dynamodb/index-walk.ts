/**
 * A walk over links in the order of their places, through an index or the entries of a label, either of which is spread
 * over several partitions. What comes back is where links lie, not what they are: the records are read from the table
 * afterwards, so that a page never shows what an index, following a moment later, still believes.
 */
import { Problem } from '../../../base/errors.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { IndexName } from '../../../engines/dynamodb/table.ts';
import type { ListPage } from '../../store.ts';
import { codeOfPlace, linkKey, placePattern, placesFrom } from './keys.ts';
import { type LinkRow, linkOf } from './rows.ts';

export interface Walk {
  readonly partitions: readonly Partition[];
  /** Only links of this time or later. */
  readonly createdFrom?: number | undefined;
  /** Only links of before this time. */
  readonly createdTo?: number | undefined;
  readonly order: 'newest' | 'oldest';
  readonly cursor: string | undefined;
}

export interface Partition {
  readonly pk: string;
  /** Undefined for entries that lie in the table itself. */
  readonly index?: IndexName;
}

/** The places after the cursor, at most `max` of them. */
export async function nextPlaces(
  dynamo: Dynamo,
  { partitions, order, cursor, createdFrom, createdTo }: Walk,
  max: number,
): Promise<{ places: string[]; isEnd: boolean }> {
  const descending = order === 'newest';
  const [firstTime, lastTime] = descending ? [createdTo, createdFrom] : [createdFrom, createdTo];
  const start = cursor ?? (firstTime === undefined ? undefined : placesFrom(firstTime));
  const range = start === undefined ? undefined : descending ? { below: start } : { above: start };
  const pages = await Promise.all(
    partitions.map(partition =>
      dynamo.query<{ sk: string; place?: string }>({
        ...partition,
        descending,
        limit: max,
        ...(range === undefined ? {} : { range }),
      }),
    ),
  );
  // A link that has just changed may still be where it was before, too.
  const all = [...new Set(pages.flatMap(({ items }) => items.map(({ sk, place }) => place ?? sk)))].sort(
    (a, b) => (a < b === descending ? 1 : -1),
  );
  const end = lastTime === undefined ? undefined : placesFrom(lastTime);
  const places = all.slice(0, max).filter(place => end === undefined || place > end === descending);
  const isPast = places.length < Math.min(all.length, max);
  return { places, isEnd: isPast || (all.length <= max && pages.every(({ next }) => next === undefined)) };
}

/** The records at these places, in that order; a place that its link has left gives none. */
export async function rowsAt(dynamo: Dynamo, places: readonly string[]): Promise<LinkRow[]> {
  const rows = await dynamo.getMany<LinkRow>(places.map(place => linkKey(codeOfPlace(place))));
  return rows.filter((row, position): row is LinkRow => row?.place === places[position]);
}

/** A page of the links that are wanted, out of the next `windowMax`: a rare match gives a short page and a cursor. */
export async function pageOf(
  dynamo: Dynamo,
  walk: Walk,
  { limit, windowMax }: { readonly limit: number; readonly windowMax: number },
  isWanted: (row: LinkRow) => boolean,
): Promise<ListPage> {
  const { places, isEnd } = await nextPlaces(dynamo, checked(walk), windowMax);
  const wanted = (await rowsAt(dynamo, places)).filter(isWanted);
  const page = wanted.slice(0, limit);
  const links = page.map(linkOf);
  if (wanted.length > limit) return { links, nextCursor: page.at(-1)!.place };
  return { links, nextCursor: isEnd ? undefined : places.at(-1) };
}

/** Refuses a cursor that nobody was given. */
export function checked(walk: Walk): Walk {
  if (walk.cursor === undefined || placePattern.test(walk.cursor)) return walk;
  throw new Problem('invalid_request', {
    detail: 'This cursor was not given out by Terse.',
    fields: { field: 'cursor' },
  });
}
