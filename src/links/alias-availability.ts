/**
 * Whether an alias could be had now, for someone who is still typing it. It promises nothing: the claim is the one
 * conditional write of a create, which may come too late.
 */
import type { AliasRule } from './alias-policy.ts';
import type { LinkContext } from './context.ts';
import { isLeased } from './leased-spans.ts';

export type AliasAvailability =
  | { readonly isFree: true }
  | {
      readonly isFree: false;
      readonly code: AliasRule | 'alias_taken';
      readonly detail: string;
    };

const taken: AliasAvailability = {
  isFree: false,
  code: 'alias_taken',
  detail: 'this alias is already taken',
};

export async function aliasAvailability(context: LinkContext, alias: string): Promise<AliasAvailability> {
  const verdict = context.aliasPolicy.judge(alias);
  if (!verdict.ok) return { isFree: false, code: verdict.code, detail: verdict.detail };
  // A deleted link keeps its code, and one that has the shape of a generated code may have been leased to a process.
  if ((await context.store.find(alias)) !== undefined) return taken;
  const claim = context.claimOf(alias);
  if (claim !== undefined && isLeased(await context.store.spans(claim.length), claim.id)) return taken;
  return { isFree: true };
}
