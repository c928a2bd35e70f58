/**
 * The owner's link to a URL that is there already. The index tells of links by URL, a moment after they are made; for
 * that moment an item of its own, the guard, names the last link that was made because none was found. Whoever makes one
 * writes the guard on condition that it is as it was read, so of many who ask at the same time one makes the link and
 * the others find it. The guard is forgotten after an hour: by then the index has long known.
 */
import type { Dynamo, PutItem } from '../../../engines/dynamodb/dynamodb.ts';
import { isNew } from '../../../engines/dynamodb/expressions.ts';
import { type Link, stateOf } from '../../link.ts';
import { nextPlaces, rowsAt } from './index-walk.ts';
import { linkKey, urlGuardKey, urlKey } from './keys.ts';
import { type LinkRow, linkOf, secondsOf } from './rows.ts';

interface GuardRow {
  readonly code: string;
}

export interface SameUrl {
  readonly found: Link | undefined;
  /** The code that the guard named; undefined where there is none. */
  readonly guardedCode: string | undefined;
}

/** Links to one URL that are looked at for a live one; more would be an owner making the same link over and over. */
const sameUrlLinksMax = 64;
const guardKeptMs = 60 * 60 * 1_000;

export async function findSameUrl(
  dynamo: Dynamo,
  ownerId: string | null,
  longUrl: string,
  now: number,
): Promise<SameUrl> {
  const guard = await dynamo.get<GuardRow>(urlGuardKey(ownerId, longUrl));
  const [indexed, guarded] = await Promise.all([
    rowsByUrl(dynamo, ownerId, longUrl),
    guard && dynamo.get<LinkRow>(linkKey(guard.code)),
  ]);
  const rows = guarded === undefined ? indexed : [...indexed, guarded];
  const newest = rows
    .filter(row => isLive(linkOf(row), ownerId, longUrl, now))
    .reduce<LinkRow | undefined>((best, row) => (best && best.place > row.place ? best : row), undefined);
  return { found: newest && linkOf(newest), guardedCode: guard?.code };
}

/** For the transaction that makes a link where none was found: refused when somebody else made one since. */
export function guardItem(link: Link, guardedCode: string | undefined, now: number): PutItem {
  return {
    put: {
      ...urlGuardKey(link.ownerId, link.longUrl),
      code: link.code,
      ttl: secondsOf(now + guardKeptMs),
    },
    condition:
      guardedCode === undefined
        ? isNew
        : { expression: '#code = :guarded', values: { guarded: guardedCode } },
  };
}

async function rowsByUrl(dynamo: Dynamo, ownerId: string | null, longUrl: string): Promise<LinkRow[]> {
  const partitions = [{ pk: urlKey(ownerId, longUrl), index: 'links-by-url' }] as const;
  const walk = { partitions, order: 'newest', cursor: undefined } as const;
  const { places } = await nextPlaces(dynamo, walk, sameUrlLinksMax);
  return places.length === 0 ? [] : rowsAt(dynamo, places);
}

const isLive = (link: Link, ownerId: string | null, longUrl: string, now: number): boolean =>
  link.ownerId === ownerId && link.longUrl === longUrl && stateOf(link, now) === 'active';
