/** Sessions of one account are one item, so that any number of them ends in one write. */
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { TransactItem } from '../../../engines/dynamodb/expressions.ts';
import type { Session } from '../../session-store.ts';
import { putSessions, type SessionsItem, sessionsKey, sessionsOf } from './items.ts';

export const readSessions = (dynamo: Dynamo, accountId: string): Promise<SessionsItem | undefined> =>
  dynamo.get<SessionsItem>(sessionsKey(accountId));

/** Pointers to sessions that ended lead nowhere, and the engine drops them in time. */
export async function endSessionsItems(
  dynamo: Dynamo,
  accountId: string,
  ends: (session: Session) => boolean,
): Promise<TransactItem[]> {
  const item = await readSessions(dynamo, accountId);
  const sessions = sessionsOf(item);
  const left = sessions.filter(session => !ends(session));
  return left.length === sessions.length ? [] : [putSessions(accountId, left, item)];
}
