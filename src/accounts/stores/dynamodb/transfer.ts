/**
 * The account store of DynamoDB as parts of a migration. Whatever an account is found by changes with it in one
 * transaction, as in the store itself; what belongs to an account is walked account by account.
 */
import type { Transfer } from '../../../base/transfer.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { TransactItem } from '../../../engines/dynamodb/expressions.ts';
import type { Account } from '../../account.ts';
import { type Invitation, isActiveAdmin } from '../../store.ts';
import type { AccountTransfers } from '../../transfer.ts';
import {
  accountsPartition,
  adminJoins,
  adminLeaves,
  newAccountItems,
  placeKey,
  putEmail,
} from './account-items.ts';
import { accountIdsOf, hasAccount } from './account-walk.ts';
import {
  type AccountItem,
  type AccountPointer,
  accountKey,
  type InvitationItem,
  invitationKey,
  pointerKey,
  putAccount,
  ttlOf,
} from './items.ts';
import { keysTransfer } from './key-transfer.ts';
import { sessionsTransfer } from './session-transfer.ts';

export const dynamoAccountTransfers = (dynamo: Dynamo, now: () => number): AccountTransfers => ({
  accounts: accountsTransfer(dynamo),
  keys: keysTransfer(dynamo, now),
  sessions: sessionsTransfer(dynamo),
  invitations: invitationsTransfer(dynamo),
});

function accountsTransfer(dynamo: Dynamo): Transfer<Account> {
  const read = async (ids: readonly string[]) => {
    const items = await dynamo.getMany<AccountItem>(ids.map(accountKey));
    return items.flatMap(item => (item === undefined ? [] : { key: item.record.id, value: item.record }));
  };

  /** Another account that has the address is out of date: it gives it up, and a later round brings what became of it. */
  const freeEmail = async ({ id, email }: Account): Promise<void> => {
    const pointer = email === null ? undefined : await dynamo.get<AccountPointer>(pointerKey('email', email));
    if (pointer === undefined || pointer.accountId === id) return;
    const holder = await dynamo.get<AccountItem>(accountKey(pointer.accountId));
    const given = holder === undefined ? [] : [putAccount({ ...holder.record, email: null }, holder)];
    await dynamo.transact([...given, { remove: pointerKey('email', email!) }]);
  };

  const replace = async (item: AccountItem, after: Account): Promise<void> => {
    const before = item.record;
    const writes: TransactItem[] = [putAccount(after, item)];
    if (before.email !== after.email) {
      if (before.email !== null) writes.push({ remove: pointerKey('email', before.email) });
      if (after.email !== null) writes.push(putEmail(after.email, after.id));
    }
    if (isActiveAdmin(before) && !isActiveAdmin(after)) {
      const { place, count } = adminLeaves(before);
      // That an admin is left is for the source to see to; here they may come and go in any order.
      const { condition: _condition, ...less } = count as Extract<TransactItem, { update: unknown }>;
      writes.push(place, { ...less, values: { less: -1 } });
    }
    if (!isActiveAdmin(before) && isActiveAdmin(after)) writes.push(...adminJoins(after));
    await dynamo.transact(writes);
  };

  return {
    part: 'accounts',
    async page(cursor, limit) {
      const { ids, next } = await accountIdsOf(dynamo, cursor, limit);
      return { records: await read(ids), next };
    },
    read,
    async write(records) {
      for (const { key, value } of records) {
        await freeEmail(value);
        const item = await dynamo.get<AccountItem>(accountKey(key));
        if (item === undefined) await dynamo.transact(newAccountItems(value));
        else await replace(item, value);
      }
    },
    async remove(ids) {
      for (const id of ids) {
        const item = await dynamo.get<AccountItem>(accountKey(id));
        if (item === undefined) continue;
        // As if it had neither rights nor an address, and then nothing of it is left but itself.
        await replace(item, { ...item.record, role: 'member', email: null });
        await dynamo.transact([
          { remove: accountKey(id) },
          { remove: placeKey(accountsPartition, item.record) },
        ]);
      }
    },
  };
}

function invitationsTransfer(dynamo: Dynamo): Transfer<Invitation> {
  const read = async (ids: readonly string[]) => {
    const items = await dynamo.getMany<InvitationItem>(ids.map(invitationKey));
    return items.flatMap(item =>
      item === undefined ? [] : { key: item.record.accountId, value: item.record },
    );
  };
  const pointerOf = async (id: string): Promise<TransactItem[]> => {
    const item = await dynamo.get<InvitationItem>(invitationKey(id));
    return item === undefined ? [] : [{ remove: pointerKey('invitation', item.record.tokenHash) }];
  };
  return {
    part: 'invitations',
    async page(cursor, limit) {
      const { ids, next } = await accountIdsOf(dynamo, cursor, limit);
      return { records: await read(ids), next };
    },
    read,
    async write(records) {
      for (const { key, value } of records) {
        if (!(await hasAccount(dynamo, key))) continue;
        const { tokenHash, expiresAt } = value;
        const put = { ...pointerKey('invitation', tokenHash), accountId: key, ttl: ttlOf(expiresAt) };
        const old = (await read([key]))[0]?.value.tokenHash === tokenHash ? [] : await pointerOf(key);
        await dynamo.transact([{ put: { ...invitationKey(key), record: { ...value } } }, { put }, ...old]);
      }
    },
    async remove(ids) {
      for (const id of ids) await dynamo.transact([{ remove: invitationKey(id) }, ...(await pointerOf(id))]);
    },
  };
}
