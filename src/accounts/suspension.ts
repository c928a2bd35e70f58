/** A suspended account may do nothing, whatever it asks with. Only whoever holds its secret is told why. */
import { Problem } from '../base/errors.ts';
import type { Account } from './account.ts';

export function refuseSuspended({ suspendedAt }: Account): void {
  if (suspendedAt === null) return;
  throw new Problem('account_suspended', {
    detail: 'This account is suspended; ask whoever runs the server.',
  });
}
