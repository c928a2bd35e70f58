/** Who owns links, and the keys that speak for them. */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly isAdmin: boolean;
  readonly createdAt: number;
}

export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
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
