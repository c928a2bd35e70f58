/** API keys of DynamoDB as a part of a migration: each with the pointers that lead to it, and then the count of all. */
import type { Transfer } from '../../../base/transfer.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { TransactItem } from '../../../engines/dynamodb/expressions.ts';
import type { ApiKey } from '../../account.ts';
import { accountIdsOf, hasAccount } from './account-walk.ts';
import { type KeyItem, keyKey, pointerKey, putKey, putKeyPointer } from './items.ts';
import { countAt, noteStanding, putHead, readHead, readKey, readKeys } from './key-items.ts';

/** Accounts whose keys make a page; each may have hundreds. */
const accountsPerPage = 10;

export function keysTransfer(dynamo: Dynamo, now: () => number): Transfer<ApiKey> {
  const recordOf = ({ record }: KeyItem) => ({ key: record.id, value: record });

  /** The head counts what is there; written last, so that what was cut off is counted the next time. */
  const count = async (accountIds: ReadonlySet<string>): Promise<void> => {
    for (const accountId of accountIds) {
      const keys = await readKeys(dynamo, accountId);
      const head = await readHead(dynamo, accountId);
      const kept = countAt(undefined, now());
      kept.total = keys.length;
      for (const { record } of keys) noteStanding(kept, record, now());
      await dynamo.write(putHead(accountId, head, kept));
    }
  };

  /** Pointers that lead to this key and not, by now, to another one. */
  const removePointers = (key: ApiKey, hashes: readonly string[]): TransactItem[] =>
    hashes.map(hash => ({
      remove: pointerKey('key-hash', hash),
      condition: { expression: 'attribute_not_exists(#pk) OR #keyId = :id', values: { id: key.id } },
    }));

  const put = async (key: ApiKey): Promise<void> => {
    const before = await readKey(dynamo, key.id);
    const hashes = hashesOf(key);
    const place = keyKey({ ...key, keyId: key.id });
    const hasMoved = before !== undefined && (before.pk !== place.pk || before.sk !== place.sk);
    const dropped =
      before === undefined ? [] : hashesOf(before.record).filter(hash => !hashes.includes(hash));
    for (const item of removePointers(key, dropped)) await dynamo.transact([item]);
    await dynamo.transact([
      putKey(key, hasMoved ? undefined : before),
      ...(hasMoved ? [{ remove: { pk: before.pk, sk: before.sk } }] : []),
      putKeyPointer('key', key.id, key, undefined),
      ...hashes.map(hash => putKeyPointer('key-hash', hash, key, undefined)),
    ]);
  };

  return {
    part: 'keys',
    async page(cursor, limit) {
      const { ids, next } = await accountIdsOf(dynamo, cursor, Math.min(limit, accountsPerPage));
      const keys: KeyItem[] = [];
      for (const id of ids) keys.push(...(await readKeys(dynamo, id)));
      return { records: keys.map(recordOf), next };
    },
    async read(ids) {
      const items = await Promise.all(ids.map(id => readKey(dynamo, id)));
      return items.flatMap(item => (item === undefined ? [] : recordOf(item)));
    },
    async write(records) {
      const touched = new Set<string>();
      for (const { value } of records) {
        if (!(await hasAccount(dynamo, value.accountId))) continue;
        const before = await readKey(dynamo, value.id);
        if (before !== undefined) touched.add(before.record.accountId);
        touched.add(value.accountId);
        await put(value);
      }
      await count(touched);
    },
    async remove(ids) {
      const touched = new Set<string>();
      for (const id of ids) {
        const item = await readKey(dynamo, id);
        if (item === undefined) continue;
        touched.add(item.record.accountId);
        for (const each of removePointers(item.record, hashesOf(item.record))) await dynamo.transact([each]);
        await dynamo.transact([{ remove: { pk: item.pk, sk: item.sk } }, { remove: pointerKey('key', id) }]);
      }
      await count(touched);
    },
  };
}

const hashesOf = ({ keyHash, previousHash }: ApiKey): string[] =>
  previousHash === null ? [keyHash] : [keyHash, previousHash];
