/** Walking over all accounts, for what is kept account by account. */
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { StartKey } from '../../../engines/dynamodb/queries.ts';
import { accountsPartition } from './account-items.ts';
import { type AccountItem, type AccountPointer, accountKey } from './items.ts';

/** The next accounts in the order of their creation. */
export async function accountIdsOf(dynamo: Dynamo, cursor: string | undefined, limit: number) {
  const start = cursor === undefined ? undefined : (JSON.parse(cursor) as StartKey);
  const { items, next } = await dynamo.query<AccountPointer>({ pk: accountsPartition, limit, start });
  return { ids: items.map(({ accountId }) => accountId), next: next && JSON.stringify(next) };
}

export async function hasAccount(dynamo: Dynamo, id: string): Promise<boolean> {
  return (await dynamo.get<AccountItem>(accountKey(id))) !== undefined;
}
