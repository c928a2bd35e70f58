/**
 * The answers that the fuzzer of the API must have seen at the end, and the search for those that it has not seen. Some
 * depend on one part of a request that is rarely chosen, such as a key of a suspended account or a time in the past:
 * the search sets that part and draws the rest.
 */
import type fc from 'fast-check';
import { listedHost } from './blocklist-effects.ts';
import type { RequestPlan } from './openapi-client.ts';
import type { Operation } from './openapi-operations.ts';

type Aim = (plan: RequestPlan) => RequestPlan;

const aims: Readonly<Record<string, Aim>> = {
  account_suspended: plan => ({ ...plan, caller: 'suspendedKey' }),
  foreign_origin: plan => ({ ...plan, caller: 'foreignSite' }),
  body_too_large: plan => ({
    ...plan,
    body: { kind: 'oversized', value: plan.body?.kind === 'value' ? plan.body.value : {}, excessBytes: 1 },
  }),
  invalid_expiry: withFields({ expiresAt: '2001-01-01T00:00:00Z' }),
  invalid_url: withFields({ longUrl: 'ftp://files.example/' }),
  url_blocked: withFields({ longUrl: `https://${listedHost}/` }),
  link_exhausted: withFields({ maxClicks: 1 }),
  link_disabled: withFields({ status: 'disabled' }),
};

/** Plans aimed at an answer (a status or a problem code); undefined if no single part of a request causes it. */
export function aimedAt(
  what: string,
  plans: fc.Arbitrary<RequestPlan>,
): fc.Arbitrary<RequestPlan> | undefined {
  const aim = aims[what];
  return aim && plans.map(aim);
}

/** Everything else about the link is valid, so that the answer is about these fields. */
function withFields(fields: Readonly<Record<string, unknown>>): Aim {
  return plan => {
    if (plan.body?.kind !== 'value') return plan;
    const value = plan.body.value as { readonly change?: unknown } | null;
    const link = { longUrl: 'https://example.com/', ...fields };
    const aimed = typeof value?.change === 'object' ? { ...value, change: link } : link;
    return { ...plan, caller: 'admin', query: '', headers: {}, body: { kind: 'value', value: aimed } };
  };
}

/** Operations that are sent first, because the answer depends on their effects. */
export const aimedBefore: Readonly<Record<string, readonly string[]>> = {
  link_exhausted: ['createLink', 'followLink'],
  link_disabled: ['createLink', 'editLink'],
};

/** Operations that must precede others for some answers, such as those for a suspended invited account. */
export const preparations: Readonly<Record<string, readonly string[]>> = {
  endSession: ['openSession'],
  acceptInvitation: ['inviteAccount', 'suspendAccount'],
  readInvitation: ['inviteAccount', 'suspendAccount'],
  ...Object.fromEntries(
    ['editLink', 'replaceLink', 'appealLink', 'followLink', 'previewLink'].map(id => [
      id,
      ['createLink', 'decideLink'],
    ]),
  ),
};

/** Documented, but unreachable by sequential requests within a minute. */
const outOfReach: Readonly<Record<string, string>> = {
  edit_conflict: 'needs two edits at the same moment',
  link_expired: 'needs a link that was accepted with a time that has passed since',
  link_unsafe: 'needs a destination that was allowed once and is not any more',
  blocklist_full: 'needs ten thousand entries of the blocklist',
  keys_full: 'needs a hundred keys that work',
  clicks_not_kept: 'needs clicks that were counted and are not in the log any more',
  rate_limited: 'needs limits, which are off here',
  plan_too_small: 'needs limits, which are off here',
  last_admin: 'needs the one admin who was there first as its subject',
  'rotateKey forbidden': 'needs the key that the settings name as its subject',
  'signUp forbidden': 'needs a server where nobody can sign up',
  'readMetrics not_found': 'needs a caller on another machine',
  'readMetrics unauthorized': 'needs a caller on another machine',
  'readMetrics account_suspended': 'needs a caller on another machine',
  'readMetrics forbidden': 'needs a caller on another machine',
  'readStats link_deleted': 'needs the code of a deleted link in the query, where codes are invented',
  'readBreakdown link_deleted': 'needs the code of a deleted link in the query, where codes are invented',
  'readRecentClicks link_deleted': 'needs the code of a deleted link in the query, where codes are invented',
};

/** The documented answers of an operation that were not seen yet: statuses and problem codes. */
export function unseenAmong({ id, answers }: Operation, seen: ReadonlySet<string>): string[] {
  const documented = [...answers].flatMap(([status, { description }]) => {
    if (status >= 500) return [];
    const codes = [...description.matchAll(/`(\w+)`:/g)].map(([, code]) => code!);
    return status < 400 ? [String(status)] : codes;
  });
  return documented
    .filter(what => (outOfReach[what] ?? outOfReach[`${id} ${what}`]) === undefined)
    .filter(what => !seen.has(what));
}
