/** The writes of sessions. */
import type { TransactItem } from '../../../engines/dynamodb/expressions.ts';
import { sessionRecord } from '../../change-note.ts';
import { type Session, type SessionStore, sessionsPerAccountMax } from '../../session-store.ts';
import { type AccountPointer, type KeyPointer, pointerKey, putSessions, sessionsOf, ttlOf } from './items.ts';
import { type AccountParts, turnOf } from './parts.ts';
import { readSessions } from './session-items.ts';

type SessionWrites = Pick<SessionStore, 'insertSession' | 'endSession' | 'touchSession'>;

export function createSessionWrites({ dynamo, steps, auditItems }: AccountParts): SessionWrites {
  const pointersTo = async ({
    id,
    accountId,
    tokenHash,
    keyId,
    expiresAt,
  }: Session): Promise<TransactItem[]> => {
    const key = keyId === null ? undefined : await dynamo.get<KeyPointer>(pointerKey('key', keyId));
    const to = { accountId, ttl: ttlOf(expiresAt) };
    const keyCreatedAt = key?.createdAt ?? null;
    return [
      { put: { ...pointerKey('session', id), ...to } },
      { put: { ...pointerKey('session-token', tokenHash), ...to, keyId, keyCreatedAt } },
    ];
  };

  return {
    insertSession: (session, note) =>
      steps.run(turnOf(session.accountId), async () => {
        const { accountId } = session;
        const item = await readSessions(dynamo, accountId);
        const kept = sessionsOf(item)
          .filter(({ expiresAt }) => expiresAt > note.at)
          .toSorted((one, other) => other.lastSeenAt - one.lastSeenAt || (one.id < other.id ? -1 : 1))
          .slice(0, sessionsPerAccountMax - 1);
        return {
          answer: undefined,
          writes: [
            putSessions(accountId, [...kept, session], item),
            ...(await pointersTo(session)),
            ...(await auditItems.itemsOf([sessionRecord(note, session)])),
          ],
        };
      }),

    endSession: (accountId, sessionId, note) =>
      steps.run(turnOf(accountId), async () => {
        const item = await readSessions(dynamo, accountId);
        const sessions = sessionsOf(item);
        const ended = sessions.find(({ id }) => id === sessionId);
        if (ended === undefined) return { answer: false };
        const left = sessions.filter(session => session !== ended);
        return {
          answer: true,
          writes: [
            putSessions(accountId, left, item),
            { remove: pointerKey('session', sessionId) },
            { remove: pointerKey('session-token', ended.tokenHash) },
            ...(await auditItems.itemsOf([sessionRecord(note, ended)])),
          ],
        };
      }),

    async touchSession(sessionId, at) {
      const pointer = await dynamo.get<AccountPointer>(pointerKey('session', sessionId));
      if (pointer === undefined) return;
      const { accountId } = pointer;
      await steps.run(turnOf(accountId), async () => {
        const item = await readSessions(dynamo, accountId);
        const sessions = sessionsOf(item);
        const isNews = sessions.some(({ id, lastSeenAt }) => id === sessionId && lastSeenAt < at);
        if (!isNews) return { answer: undefined };
        const seen = sessions.map(each => (each.id === sessionId ? { ...each, lastSeenAt: at } : each));
        return { answer: undefined, writes: [putSessions(accountId, seen, item)] };
      });
    },
  };
}
