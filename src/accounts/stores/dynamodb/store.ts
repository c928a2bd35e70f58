/**
 * Accounts, keys and sessions in DynamoDB, beside the links. Reads are strongly consistent, so what one process revokes
 * or suspends is refused by the next request in every other.
 */
import type { Account } from '../../account.ts';
import { cursorOf, placeOf } from '../../account-cursor.ts';
import type { AccountStore } from '../../store.ts';
import { accountsPartition, placeKey } from './account-items.ts';
import { createAccountWrites } from './account-writes.ts';
import {
  type AccountItem,
  type AccountPointer,
  accountKey,
  type InvitationItem,
  invitationKey,
  type KeyItem,
  type KeyPointer,
  keyKey,
  pointerKey,
  sessionsOf,
  type TokenPointer,
} from './items.ts';
import { readKey, readKeys, readPointedKey } from './key-items.ts';
import { createKeyWrites } from './key-writes.ts';
import type { AccountParts } from './parts.ts';
import { readSessions } from './session-items.ts';
import { createSessionWrites } from './session-writes.ts';
import { createSetUp } from './set-up.ts';

export function createDynamoAccountStore(parts: AccountParts): AccountStore {
  const { dynamo } = parts;

  const findAccount = async (id: string): Promise<Account | undefined> => {
    const item = await dynamo.get<AccountItem>(accountKey(id));
    return item?.record;
  };

  /** The key that opened a session: where it was then, or, should it have moved, where it is now. */
  const readOpener = async ({
    accountId,
    keyId,
    keyCreatedAt,
  }: TokenPointer): Promise<KeyItem | undefined> => {
    if (keyId === null) return undefined;
    const there =
      keyCreatedAt === null
        ? undefined
        : await dynamo.get<KeyItem>(keyKey({ accountId, keyId, createdAt: keyCreatedAt }));
    return there ?? (await readKey(dynamo, keyId));
  };

  return {
    setUp: createSetUp(parts),
    ...createAccountWrites(parts),
    ...createKeyWrites(parts),
    ...createSessionWrites(parts),

    findAccount,
    async findAccountByEmail(email) {
      const pointer = await dynamo.get<AccountPointer>(pointerKey('email', email));
      const account = pointer && (await findAccount(pointer.accountId));
      return account?.email === email ? account : undefined;
    },
    async listAccounts({ limit, cursor }) {
      const from = cursor === undefined ? undefined : placeKey(accountsPartition, placeOf(cursor)).sk;
      const { items } = await dynamo.query<AccountPointer>({
        pk: accountsPartition,
        limit: limit + 1,
        ...(from === undefined ? {} : { range: { above: from } }),
      });
      const found = await dynamo.getMany<AccountItem>(
        items.slice(0, limit).map(({ accountId }) => accountKey(accountId)),
      );
      const accounts = found.flatMap(item => item?.record ?? []);
      return { accounts, nextCursor: items.length > limit ? cursorOf(accounts.at(-1)!) : undefined };
    },
    async findInvitation(tokenHash) {
      const pointer = await dynamo.get<AccountPointer>(pointerKey('invitation', tokenHash));
      if (pointer === undefined) return undefined;
      const [account, invitation] = await Promise.all([
        findAccount(pointer.accountId),
        dynamo.get<InvitationItem>(invitationKey(pointer.accountId)),
      ]);
      if (account === undefined || invitation?.record.tokenHash !== tokenHash) return undefined;
      return { account, invitation: invitation.record };
    },

    async findByKeyHash(keyHash) {
      const pointer = await dynamo.get<KeyPointer>(pointerKey('key-hash', keyHash));
      if (pointer === undefined) return undefined;
      const [account, item] = await Promise.all([
        findAccount(pointer.accountId),
        readPointedKey(dynamo, pointer),
      ]);
      const key = item?.record;
      const isIts = key?.keyHash === keyHash || key?.previousHash === keyHash;
      return account && key && isIts ? { account, key } : undefined;
    },
    async findKey(keyId) {
      const item = await readKey(dynamo, keyId);
      return item?.record;
    },
    listKeys: async accountId => (await readKeys(dynamo, accountId)).map(({ record }) => record),

    async findSession(tokenHash) {
      const pointer = await dynamo.get<TokenPointer>(pointerKey('session-token', tokenHash));
      if (pointer === undefined) return undefined;
      const [account, item, key] = await Promise.all([
        findAccount(pointer.accountId),
        readSessions(dynamo, pointer.accountId),
        readOpener(pointer),
      ]);
      const session = sessionsOf(item).find(each => each.tokenHash === tokenHash);
      return account && session && { session, account, key: key?.record };
    },
    async listSessions(accountId) {
      const sessions = sessionsOf(await readSessions(dynamo, accountId));
      return sessions.toSorted(
        (one, other) => other.createdAt - one.createdAt || (one.id < other.id ? -1 : 1),
      );
    },
  };
}
