/**
 * First answers to keyed requests. The engine itself drops them after their time; until then, a record that is too old
 * counts as expired and is overwritten.
 */
import type { Dynamo, PutItem } from '../../../engines/dynamodb/dynamodb.ts';
import { isNew, type Key } from '../../../engines/dynamodb/expressions.ts';
import { withLaterFields } from '../../fields.ts';
import { type Link, stateOf } from '../../link.ts';
import type { IdempotencyRecord, RememberedAnswer } from '../../store.ts';
import { answerKey, linkKey, urlGuardKey, urlKey } from './keys.ts';
import { nextPlaces, rowsAt } from './list.ts';
import { type LinkRow, linkOf, secondsOf } from './rows.ts';

export interface AnswerRow extends Key {
  readonly owner: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly createdAt: number;
  readonly outcome: RememberedAnswer['outcome'];
  /** The link as it was returned, as JSON: it is replayed, never inspected. */
  readonly link: string;
}

export const answerRow = (
  { ownerId, key, fingerprint, createdAt }: Omit<IdempotencyRecord, 'validAfter'>,
  outcome: RememberedAnswer['outcome'],
  link: Link,
  keptUntil: number,
) => ({
  ...answerKey(ownerId, key),
  owner: ownerId,
  key,
  fingerprint,
  createdAt,
  outcome,
  link: JSON.stringify(link),
  ttl: secondsOf(keptUntil),
});

export async function recall(
  dynamo: Dynamo,
  { ownerId, key, validAfter }: IdempotencyRecord,
): Promise<RememberedAnswer | undefined> {
  const row = await dynamo.get<AnswerRow>(answerKey(ownerId, key));
  if (row === undefined || row.createdAt < validAfter) return undefined;
  const { outcome, link, fingerprint } = row;
  return { outcome, link: withLaterFields(JSON.parse(link) as Link), fingerprint };
}

/** For the transaction that creates the link, or alone where one was found: fails when there is an answer already. */
export function answerItem(
  record: IdempotencyRecord,
  outcome: RememberedAnswer['outcome'],
  link: Link,
  now: number,
): PutItem {
  const { createdAt, validAfter } = record;
  return {
    put: answerRow(record, outcome, link, now + 2 * (createdAt - validAfter)),
    condition: {
      expression: 'attribute_not_exists(#pk) OR #createdAt < :validAfter',
      values: { validAfter },
    },
  };
}

interface GuardRow {
  readonly code: string;
}

export interface SameUrl {
  readonly found: Link | undefined;
  /** The code that the guard named; undefined where there is none. */
  readonly guardedCode: string | undefined;
}

/** Links to one URL that are examined for a live one; more would be an owner creating the same link over and over. */
const sameUrlLinksMax = 64;
const guardKeptMs = 60 * 60 * 1_000;

/**
 * The owner's existing link to a URL. The index finds links by URL a moment after they are created; until then a
 * separate item, the guard, names the last link that was created because none was found. A caller that creates one
 * writes the guard on condition that it is unchanged since it was read, so of many concurrent callers one creates the
 * link and the others find it. The guard expires after an hour: by then the index has long caught up.
 */
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

/** For the transaction that creates a link where none was found: fails when another caller created one since. */
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
