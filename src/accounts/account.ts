/** Who owns links, and the keys that speak for them. */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly isAdmin: boolean;
  readonly createdAt: number;
}

/**
 * How a key came to be. `issued`: handed out by Terse. `setting`: named by the operator; the setting's next value
 * takes its place. `unseen`: made by the first start, which may have ended before it had printed it.
 */
export type KeyOrigin = 'issued' | 'setting' | 'unseen';

export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly origin: KeyOrigin;
  /** SHA-256 of the key in hex; the key itself is shown once and kept nowhere. */
  readonly keyHash: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
}

/** Who is asking. Everything that changes something takes one. */
export type Actor =
  | { readonly kind: 'anonymous' }
  | {
      readonly kind: 'account';
      readonly accountId: string;
      readonly isAdmin: boolean;
      readonly keyId: string;
    };

export const anonymous: Actor = { kind: 'anonymous' };

export function ownerIdOf(actor: Actor): string | null {
  return actor.kind === 'account' ? actor.accountId : null;
}

/** The owner or an admin; nobody else may see that the thing exists. */
export function mayManage(actor: Actor, ownerId: string | null): boolean {
  return actor.kind === 'account' && (actor.isAdmin || actor.accountId === ownerId);
}
