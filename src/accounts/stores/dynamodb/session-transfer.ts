/** Sessions of DynamoDB as a part of a migration: those of one account are one item, found through pointers. */
import type { Transfer } from '../../../base/transfer.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { Session } from '../../session-store.ts';
import { accountIdsOf, hasAccount } from './account-walk.ts';
import {
  type AccountPointer,
  type KeyPointer,
  pointerKey,
  putSessions,
  type SessionsItem,
  sessionsKey,
  sessionsOf,
  ttlOf,
} from './items.ts';
import { readSessions } from './session-items.ts';

/** Accounts whose sessions make a page; each may have dozens. */
const accountsPerPage = 50;

export function sessionsTransfer(dynamo: Dynamo): Transfer<Session> {
  const recordOf = (session: Session) => ({ key: session.id, value: session });

  const pointersTo = async (session: Session) => {
    const { id, accountId, tokenHash, keyId, expiresAt } = session;
    const key = keyId === null ? undefined : await dynamo.get<KeyPointer>(pointerKey('key', keyId));
    const to = { accountId, ttl: ttlOf(expiresAt) };
    return [
      { put: { ...pointerKey('session', id), ...to } },
      {
        put: {
          ...pointerKey('session-token', tokenHash),
          ...to,
          keyId,
          keyCreatedAt: key?.createdAt ?? null,
        },
      },
    ];
  };
  const accountIdsOfSessions = async (ids: readonly string[]): Promise<Set<string>> => {
    const pointers = await dynamo.getMany<AccountPointer>(ids.map(id => pointerKey('session', id)));
    return new Set(pointers.flatMap(pointer => pointer?.accountId ?? []));
  };

  return {
    part: 'sessions',
    async page(cursor, limit) {
      const { ids, next } = await accountIdsOf(dynamo, cursor, Math.min(limit, accountsPerPage));
      const items = await dynamo.getMany<SessionsItem>(ids.map(sessionsKey));
      return { records: items.flatMap(sessionsOf).map(recordOf), next };
    },
    async read(ids) {
      const accountIds = await accountIdsOfSessions(ids);
      const items = await dynamo.getMany<SessionsItem>(Array.from(accountIds, sessionsKey));
      const wanted = new Set(ids);
      return items
        .flatMap(sessionsOf)
        .filter(({ id }) => wanted.has(id))
        .map(recordOf);
    },
    async write(records) {
      const byAccount = Map.groupBy(records, ({ value }) => value.accountId);
      for (const [accountId, ofAccount] of byAccount) {
        if (!(await hasAccount(dynamo, accountId))) continue;
        const given = ofAccount.map(({ value }) => value);
        // Pointers before the sessions: one that leads nowhere does no harm.
        for (const session of given) await dynamo.batchWrite(await pointersTo(session));
        const item = await readSessions(dynamo, accountId);
        const others = sessionsOf(item).filter(
          ({ id, tokenHash }) => !given.some(each => each.id === id || each.tokenHash === tokenHash),
        );
        await dynamo.write(putSessions(accountId, [...others, ...given], item));
      }
    },
    async remove(ids) {
      for (const accountId of await accountIdsOfSessions(ids)) {
        const item = await readSessions(dynamo, accountId);
        const left = sessionsOf(item).filter(({ id }) => !ids.includes(id));
        await dynamo.write(putSessions(accountId, left, item));
      }
      // What their tokens point to is not there any more, and the engine drops the pointers in time.
      await dynamo.batchWrite(ids.map(id => ({ remove: pointerKey('session', id) })));
    },
  };
}
