/** Whether an account can be opened: the rule for a first key, the same for every store. */
import type { ApiKey } from './account.ts';

/** The only key there is, when it was made by a first start and nobody is known to have seen or used it. */
export function unseenKeyOf(keys: readonly ApiKey[]): ApiKey | undefined {
  const [only, ...others] = keys;
  if (only === undefined || others.length > 0) return undefined;
  return only.origin === 'unseen' && only.lastUsedAt === null && only.revokedAt === null ? only : undefined;
}
