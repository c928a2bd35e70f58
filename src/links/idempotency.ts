/**
 * Repeating a create safely. The first answer under a key is kept with the link it made or found, in the
 * same transaction, and given again for a day: also to a repeat that would be refused by now.
 */
import { createHash } from 'node:crypto';
import { type Actor, ownerIdOf } from '../accounts/account.ts';
import { Problem } from '../base/errors.ts';
import type { CreateInput, CreateResult } from './create.ts';
import type { IdempotencyRecord, RememberedAnswer } from './store.ts';

/** How long a repeated request with the same key gets the first answer. */
export const idempotencyWindowMs = 24 * 60 * 60 * 1_000;

/** Each item of a bulk call has its own record, so a bulk call that died half-way can be repeated whole. */
export function idempotencyRecord(
  actor: Actor,
  key: string,
  index: number,
  input: CreateInput,
  now: number,
): IdempotencyRecord {
  const ownerId = ownerIdOf(actor);
  const canonical = JSON.stringify(input, Object.keys(input).sort());
  const fingerprint = createHash('sha256').update(canonical).digest('base64url');
  const itemKey = `${key}#${index}`;
  return {
    ownerId: ownerId ?? '',
    // Strangers share the anonymous owner: they only ever repeat a request that is the same to the letter.
    key: ownerId === null ? `${itemKey}#${fingerprint}` : itemKey,
    fingerprint,
    createdAt: now,
    validAfter: now - idempotencyWindowMs,
  };
}

export function replay(
  record: IdempotencyRecord,
  { outcome, link, fingerprint }: RememberedAnswer,
): CreateResult {
  if (fingerprint === record.fingerprint) return { kind: outcome, link };
  return new Problem('idempotency_key_reused', {
    detail: 'Use a new Idempotency-Key for a different request.',
  });
}
