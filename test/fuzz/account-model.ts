/** The accounts and sessions that must exist on the server, like the links in model.ts. */
import type { Owner } from './model.ts';

/** An account as the API shows it, apart from its times. */
export interface AccountView {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: string;
  readonly plan: string;
  readonly hasPassword: boolean;
  readonly createdAt: string;
  readonly suspendedAt: string | null;
}

export interface ModelAccount {
  view: AccountView;
  /** The current password, if known. */
  password?: string | undefined;
  /** The token of the newest invitation, until it is used. */
  invitation?: string | undefined;
}

export interface ModelSession {
  readonly id: string;
  readonly owner: Owner;
  readonly cookie: string;
  /** The key that opened it; null for the one that the owner started with. */
  readonly keyId: string | null;
  ended: boolean;
}

export const roleScopes: Readonly<Record<string, readonly string[]>> = {
  member: ['links:read', 'links:write', 'stats:read'],
  moderator: ['links:read', 'links:write', 'stats:read', 'moderate'],
  admin: ['links:read', 'links:write', 'stats:read', 'moderate', 'admin'],
};

/** Fewer than an account can have, so that none is evicted. */
export const sessionsKeptMax = 40;

export class People {
  /** Accounts that requests have created, by id. */
  readonly accounts = new Map<string, ModelAccount>();
  /** Accounts from before the first request. */
  readonly starting: Readonly<Partial<Record<Owner, ModelAccount>>>;
  /** Accounts that signed up; clients do not learn their ids. */
  readonly signedUpEmails = new Set<string>();
  readonly sessions = new Map<string, ModelSession>();

  constructor(starting: Readonly<Partial<Record<Owner, ModelAccount>>>) {
    this.starting = starting;
  }

  own(owner: Owner): ModelAccount {
    return this.starting[owner]!;
  }

  roleScopesOf(owner: Owner): readonly string[] {
    return owner === 'nobody' ? [] : roleScopes[this.own(owner).view.role]!;
  }

  isTaken(email: string): boolean {
    const wanted = email.toLowerCase();
    const all = [...this.accounts.values(), ...Object.values(this.starting)];
    return this.signedUpEmails.has(wanted) || all.some(({ view }) => view.email === wanted);
  }

  liveSessions(owner?: Owner): ModelSession[] {
    return [...this.sessions.values()].filter(
      session => !session.ended && (owner === undefined || session.owner === owner),
    );
  }

  endedSessions(owner: Owner): ModelSession[] {
    return [...this.sessions.values()].filter(session => session.ended && session.owner === owner);
  }

  endSessions(doomed: (session: ModelSession) => boolean): void {
    for (const session of this.sessions.values()) if (doomed(session)) session.ended = true;
  }
}
