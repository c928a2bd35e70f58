/**
 * What writes of keys consist of. The head of an account's keys is part of each of them that changes how many work, so
 * that two at once disturb each other and the account never has more than it may; and a secret leads to one key, because
 * its pointer is only put where there is none.
 */
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import { isNew, type PutItem, type TransactItem } from '../../../engines/dynamodb/expressions.ts';
import { nextVersion, unchanged } from '../../../engines/dynamodb/steps.ts';
import type { ApiKey } from '../../account.ts';
import { isDead } from '../../key-store.ts';
import {
  accountKey,
  type KeyItem,
  type KeyPointer,
  type KeysItem,
  keyKey,
  keyPrefix,
  keysKey,
  pointerKey,
  putKey,
  putKeyPointer,
} from './items.ts';

/** What a head says at a moment, to be changed and written back. */
export interface KeyCount {
  total: number;
  readonly live: Map<string, number | null>;
}

export const readHead = (dynamo: Dynamo, accountId: string): Promise<KeysItem | undefined> =>
  dynamo.get<KeysItem>(keysKey(accountId));

export function countAt(head: KeysItem | undefined, now: number): KeyCount {
  const live = Object.entries(head?.live ?? {}).filter(
    ([, expiresAt]) => expiresAt === null || expiresAt > now,
  );
  return { total: head?.total ?? 0, live: new Map(live) };
}

export function putHead(accountId: string, before: KeysItem | undefined, count: KeyCount): PutItem {
  const { total, live } = count;
  const version = nextVersion(before);
  return {
    put: { ...keysKey(accountId), total, live: Object.fromEntries(live), version },
    condition: unchanged(before),
  };
}

/** Whether the key works from now on is part of the count. */
export function noteStanding({ live }: KeyCount, key: ApiKey, now: number): void {
  if (isDead(key, now)) live.delete(key.id);
  else live.set(key.id, key.expiresAt);
}

export interface NewKeyItems {
  readonly writes: readonly TransactItem[];
  /** The one that is refused when the secret belongs to a key already. */
  readonly secret: TransactItem;
}

export function newKeyItems(key: ApiKey): NewKeyItems {
  const secret = putKeyPointer('key-hash', key.keyHash, key, isNew);
  return { writes: [putKey(key, undefined), putKeyPointer('key', key.id, key, isNew), secret], secret };
}

export function forgetKeyItems(item: KeyItem): TransactItem[] {
  const { id, keyHash, previousHash } = item.record;
  return [
    { remove: item, condition: unchanged(item) },
    { remove: pointerKey('key', id) },
    { remove: pointerKey('key-hash', keyHash) },
    ...(previousHash === null ? [] : [{ remove: pointerKey('key-hash', previousHash) }]),
  ];
}

/** In the order of their creation; `limit` for the oldest only. */
export async function readKeys(dynamo: Dynamo, accountId: string, limit?: number): Promise<KeyItem[]> {
  const query = { pk: accountKey(accountId).pk, range: { prefix: keyPrefix } } as const;
  if (limit !== undefined) return (await dynamo.query<KeyItem>({ ...query, limit })).items;
  const keys: KeyItem[] = [];
  // There is a most that an account can have, so this ends.
  for (let page = await dynamo.query<KeyItem>(query); ; ) {
    keys.push(...page.items);
    if (page.next === undefined) return keys;
    page = await dynamo.query<KeyItem>({ ...query, start: page.next });
  }
}

export async function readKey(dynamo: Dynamo, keyId: string): Promise<KeyItem | undefined> {
  return await readPointedKey(dynamo, await dynamo.get<KeyPointer>(pointerKey('key', keyId)));
}

/** A key may have been moved between the two reads; then it is as if it had been asked for a moment earlier. */
export async function readPointedKey(
  dynamo: Dynamo,
  pointer: KeyPointer | undefined,
): Promise<KeyItem | undefined> {
  return pointer && (await dynamo.get<KeyItem>(keyKey(pointer)));
}
