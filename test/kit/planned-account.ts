/** Accounts on a plan, each with a key, created by an admin. */
import type { Call } from './client.ts';

export interface PlannedAccount {
  readonly accountId: string;
  readonly key: string;
}

export async function accountOn(call: Call, plan: string): Promise<PlannedAccount> {
  const account = await call('POST', '/api/v1/accounts', { body: { name: `on ${plan}`, plan } });
  if (account.status !== 201)
    throw new Error(`no account: ${account.status} ${JSON.stringify(account.body)}`);
  return { accountId: account.body.id, key: await anotherKey(call, account.body.id) };
}

export async function anotherKey(call: Call, accountId: string): Promise<string> {
  const made = await call('POST', '/api/v1/keys', { body: { name: 'for a test', accountId } });
  if (made.status !== 201) throw new Error(`no key: ${made.status} ${JSON.stringify(made.body)}`);
  return made.body.key;
}
