/** The effects of accepted requests about accounts, keys or sessions; part of the table in effects.ts. */
import { expect } from 'bun:test';
import type { AccountView, ModelAccount } from './account-model.ts';
import type { Accepted } from './effects.ts';
import type { Model } from './model.ts';
import type { SentRequest } from './sent-request.ts';

/** The maximum number of listed keys that no longer work. */
const deadKeysMax = 100;
export const startingKeyCounts = { admin: 1, stranger: 3, nobody: 0 } as const;

interface KeyInput {
  readonly name: string;
  readonly scopes?: readonly string[];
  readonly expiresAt?: string | null;
  readonly accountId?: string;
}

export const accountEffects: Readonly<Record<string, (accepted: Accepted) => void>> = {
  listKeys({ sent, body, model }) {
    const query = new URLSearchParams(sent.plan.query);
    const limit = Number(query.get('limit') ?? 100);
    expect(body.keys.length).toBeLessThanOrEqual(limit);
    // A page from a cursor, or before another page, is not the whole list.
    if (query.has('cursor') || body.nextCursor !== null) return;
    const known = [...model.keys.values()].filter(key => key.owner === sent.owner);
    if (sent.isNarrow) {
      expect(body.keys).toHaveLength(1);
      if (sent.issued !== undefined) expect(keyFacts(body.keys[0])).toBe(keyFacts(sent.issued));
      return;
    }
    const listedKeys = body.keys.filter(({ id }: { id: string }) => model.keys.has(id));
    expect(new Set(listedKeys.map(keyFacts))).toEqual(new Set(known.map(keyFacts)));
    // Starting keys were not created by requests.
    expect(body.keys).toHaveLength(known.length + startingKeyCounts[sent.owner]);
  },

  createKey({ sent, body, model }) {
    const { name, scopes, expiresAt = null, accountId } = sent.input as KeyInput;
    const allowed = model.people.roleScopesOf(sent.owner);
    const granted = scopes === undefined ? allowed : allowed.filter(scope => scopes.includes(scope));
    const own = model.people.own(sent.owner).view.id;
    expect(sent.isNarrow).toBe(false);
    expect(accountId ?? own).toBe(own);
    expect(body).toMatchObject({
      name,
      accountId: own,
      scopes: granted,
      expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      lastUsedAt: null,
      previousUntil: null,
      revokedAt: null,
    });
    expect(model.keys.has(body.id)).toBe(false);
    const dead = model.keysOf(sent.owner, true);
    for (const { id } of dead.slice(0, Math.max(0, dead.length - deadKeysMax))) model.keys.delete(id);
    model.keys.set(body.id, {
      id: body.id,
      owner: sent.owner,
      name,
      scopes: granted,
      secret: body.key,
      revoked: false,
    });
  },

  rotateKey({ sent, body, model }) {
    const key = model.keys.get(sent.places.id!)!;
    expect(body).toMatchObject({ id: key.id, name: key.name, scopes: key.scopes, revokedAt: null });
    expect(body.key).not.toBe(key.secret);
    key.secret = body.key;
  },

  revokeKey({ sent, model }) {
    const key = model.keys.get(sent.places.id!)!;
    expect(key.owner).toBe(sent.owner);
    expect(key.revoked).toBe(false);
    key.revoked = true;
    model.people.endSessions(session => session.keyId === key.id);
  },

  readOwnAccount({ sent, body, model }) {
    const { scopes, keyId, sessionId, ...view } = body;
    expect(view).toEqual(model.people.own(sent.owner).view);
    expect(new Set(scopes)).toEqual(new Set(sent.scopes));
    expect(sessionId).toBe(sent.session?.id ?? null);
    expect(keyId === null).toBe(sent.session !== undefined);
  },

  editOwnAccount({ sent, body, model }) {
    const { name, email, password } = sent.input as {
      name?: string;
      email?: string | null;
      password?: string;
    };
    const account = model.people.own(sent.owner);
    expect(sent.isNarrow).toBe(false);
    if (email !== undefined) expect(sent.isAdmin).toBe(true);
    account.view = {
      ...account.view,
      ...(name !== undefined && { name }),
      ...(email !== undefined && { email: email?.toLowerCase() ?? null }),
      ...(password !== undefined && { hasPassword: true }),
    };
    expect(body).toMatchObject({ ...account.view });
    if (password === undefined) return;
    account.password = password;
    model.people.endSessions(({ owner, id }) => owner === sent.owner && id !== sent.session?.id);
  },

  listAccounts({ sent, body, model }) {
    expect(sent.isAdmin).toBe(true);
    for (const view of body.accounts as AccountView[]) {
      const known = model.people.accounts.get(view.id);
      if (known !== undefined) expect(view).toEqual(known.view);
    }
    const email = new URLSearchParams(sent.plan.query).get('email');
    if (email !== null) expect(body.accounts).toHaveLength(model.people.isTaken(email) ? 1 : 0);
  },

  createAccount({ sent, body, model }) {
    const { name, email = null, plan = 'free', role = 'member' } = sent.input as Partial<AccountView>;
    const view: AccountView = {
      id: body.id,
      name: name!,
      email: email?.toLowerCase() ?? null,
      role,
      plan,
      hasPassword: false,
      createdAt: body.createdAt,
      suspendedAt: null,
    };
    expect(body).toEqual(view);
    model.people.accounts.set(body.id, { view });
  },

  readAccount: ({ sent, body, model }) => expect(body).toEqual(account(sent, model).view),

  editAccount({ sent, body, model }) {
    const changed = account(sent, model);
    const { email, ...fields } = sent.input as Partial<AccountView>;
    changed.view = {
      ...changed.view,
      ...fields,
      ...(email !== undefined && { email: email?.toLowerCase() ?? null }),
    };
    expect(body).toEqual(changed.view);
  },

  suspendAccount({ sent, body, model }) {
    const suspended = account(sent, model);
    expect(body.suspendedAt).toBeString();
    suspended.view = { ...suspended.view, suspendedAt: body.suspendedAt };
    expect(body).toEqual(suspended.view);
  },

  unsuspendAccount({ sent, body, model }) {
    const active = account(sent, model);
    active.view = { ...active.view, suspendedAt: null };
    expect(body).toEqual(active.view);
  },

  inviteAccount({ sent, body, model }) {
    account(sent, model).invitation = body.token;
  },

  resetPassword({ sent, body, model }) {
    account(sent, model).invitation = body.token;
  },

  readInvitation({ sent, body, model }) {
    const { token } = sent.input as { token: string };
    const { view } = [...model.people.accounts.values()].find(({ invitation }) => invitation === token)!;
    expect(body).toMatchObject({ name: view.name, email: view.email });
  },

  acceptInvitation({ sent, body, model }) {
    const { token } = sent.input as { token: string };
    const accepted = [...model.people.accounts.values()].find(({ invitation }) => invitation === token)!;
    accepted.invitation = undefined;
    accepted.view = { ...accepted.view, hasPassword: true };
    expect(body).toEqual(accepted.view);
  },

  readSignInOptions({ body }) {
    expect(body).toEqual({ passwords: true, signUp: true });
  },

  signUp({ sent, model }) {
    const { email } = sent.input as { email: string };
    if (!model.people.isTaken(email)) model.people.signedUpEmails.add(email.toLowerCase());
  },

  openSession({ sent, answer, body, model }) {
    const { key: secret } = sent.input as { key: string };
    const key = [...model.keys.values()].find(each => each.secret === secret && !each.revoked);
    const owner = key?.owner ?? 'admin';
    expect(body.account).toEqual(model.people.own(owner).view);
    const cookie = answer.headers['set-cookie']!.split(';')[0]!;
    const { id } = body.session;
    model.people.sessions.set(id, { id, owner, cookie, keyId: key?.id ?? null, ended: false });
  },

  closeSession({ sent, answer, model }) {
    expect(answer.headers['set-cookie']).toContain('Max-Age=0');
    model.people.endSessions(({ id }) => id === sent.session!.id);
  },

  listSessions({ sent, body, model }) {
    const listed = body.sessions.map(({ id }: { id: string }) => id).sort();
    expect(listed).toEqual(
      model.people
        .liveSessions(sent.owner)
        .map(({ id }) => id)
        .sort(),
    );
  },

  endSession({ sent, model }) {
    const session = model.people.sessions.get(sent.places.sessionId!)!;
    expect({ owner: session.owner, ended: session.ended }).toEqual({ owner: sent.owner, ended: false });
    session.ended = true;
  },
};

/** The account in the path, which must exist if the request was accepted, and only admins' requests are. */
function account(sent: SentRequest, model: Model): ModelAccount {
  expect(sent.isAdmin).toBe(true);
  const found = model.people.accounts.get(sent.places.accountId!);
  expect(found).toBeDefined();
  return found!;
}

function keyFacts(key: { id: string; name: string; revoked?: boolean; revokedAt?: string | null }): string {
  return JSON.stringify([key.id, key.name, key.revoked ?? key.revokedAt !== null]);
}
