import { beforeEach, describe, expect, test } from 'bun:test';
import type { AuditRecord } from '../audit/audit-entry.ts';
import { ManualClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { type Account, type Actor, actorOf, anonymous, type Scope, scopesOfRole } from './account.ts';
import { type Credentials, createCredentials } from './api-key.ts';
import { fakeAccount, fakeKey, fakeNote } from './fake-actors.ts';
import { fakeAccountStore } from './fake-store.ts';
import { keysPerAccountMax } from './key-store.ts';
import { createKeys, type Keys } from './keys.ts';
import type { AccountStore } from './store.ts';

describe('keys', () => {
  const accounts = {
    member: fakeAccount('acc_member'),
    other: fakeAccount('acc_other'),
    admin: fakeAccount('acc_admin', { role: 'admin' }),
  };
  let clock: ManualClock;
  let store: AccountStore;
  let credentials: Credentials;
  let keys: Keys;
  beforeEach(async () => {
    clock = new ManualClock();
    store = fakeAccountStore();
    credentials = createCredentials(store, clock, seededRandom(1));
    keys = createKeys(store, clock, seededRandom(2));
    for (const account of Object.values(accounts)) await store.insertAccount(account, fakeNote());
  });

  const page = { limit: 100, cursor: undefined };
  const session = (account: Account): Actor => actorOf(account, { sessionId: 'ses_1' });
  /** An actor with a key of the account that exists. */
  const keyed = async (
    account: Account,
    id: string,
    scopes: readonly Scope[] = scopesOfRole[account.role],
  ) => {
    const key = fakeKey(id, account.id, { scopes });
    await store.insertKey(key, fakeNote());
    return actorOf(account, { key });
  };
  const refusal = (code: string) => expect.objectContaining({ code });

  test('a new key works, and may do all that its account may unless fewer scopes are named', async () => {
    const whole = await keys.create(session(accounts.member), { name: 'whole' });
    expect(await credentials.authenticate(whole.secret)).toEqual(
      actorOf(accounts.member, { key: whole.key }),
    );
    expect(whole.key.scopes).toEqual(scopesOfRole.member);
    const narrow = await keys.create(session(accounts.member), {
      name: 'narrow',
      scopes: ['stats:read', 'links:read', 'stats:read'],
    });
    expect(narrow.key.scopes).toEqual(['links:read', 'stats:read']);
  });

  test('no key is made with more than the role of its account', async () => {
    for (const scope of ['moderate', 'admin'] as const) {
      const asked = keys.create(session(accounts.member), { name: 'x', scopes: ['links:read', scope] });
      await expect(asked).rejects.toEqual(refusal('forbidden'));
      const byAdmin = { name: 'x', scopes: [scope], accountId: 'acc_member' };
      await expect(keys.create(session(accounts.admin), byAdmin)).rejects.toEqual(refusal('forbidden'));
    }
    expect(await store.listKeys('acc_member')).toEqual([]);
  });

  test('an expiry must be in the future, in a year of four digits', async () => {
    const at = clock.now();
    for (const expiresAt of [at - 1, at, Date.parse('9999-12-31T23:59:59.999Z') + 1]) {
      const made = keys.create(session(accounts.member), { name: 'x', expiresAt });
      await expect(made).rejects.toEqual(refusal('invalid_expiry'));
    }
    const { key } = await keys.create(session(accounts.member), { name: 'x', expiresAt: at + 1 });
    expect(key.expiresAt).toBe(at + 1);
  });

  test('they are listed in pages that have each of them once, even while one is revoked', async () => {
    const actor = session(accounts.member);
    const made: string[] = [];
    for (let n = 0; n < 7; n += 1) {
      made.push((await keys.create(actor, { name: `key ${n}` })).key.id);
      if (n % 2 === 0) clock.advance(1);
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { keys: shown, nextCursor } = await keys.list(actor, { limit: 3, cursor });
      seen.push(...shown.map(({ id }) => id));
      await keys.revoke(actor, shown.at(-1)!.id);
      cursor = nextCursor;
    } while (cursor !== undefined && seen.length < 20);
    expect(seen).toHaveLength(7);
    expect(seen.toSorted()).toEqual(made.toSorted());
    await expect(keys.list(actor, { limit: 3, cursor: 'made up' })).rejects.toEqual(
      refusal('invalid_request'),
    );
  });

  test('an account cannot hoard keys', async () => {
    const actor = session(accounts.member);
    for (let n = 0; n < keysPerAccountMax; n += 1) await keys.create(actor, { name: `key ${n}` });
    await expect(keys.create(actor, { name: 'too many' })).rejects.toEqual(refusal('keys_full'));
  });

  test('changes to one’s own keys are routine in the audit log, an admin’s changes to them are not', async () => {
    const trail: AuditRecord[] = [];
    store = fakeAccountStore(record => trail.push(record));
    for (const account of Object.values(accounts)) await store.insertAccount(account, fakeNote());
    keys = createKeys(store, clock, seededRandom(3));
    trail.length = 0;
    const { key } = await keys.create(session(accounts.member), { name: 'own' });
    await keys.rotate(session(accounts.member), key.id, 0);
    await keys.revoke(session(accounts.admin), key.id);
    await store.changeAccount('acc_member', { name: 'x' }, fakeNote());
    expect(trail.map(({ action, isRoutine }) => [action, isRoutine])).toEqual([
      ['key.created', true],
      ['key.rotated', true],
      ['key.revoked', false],
      ['something.done', false],
    ]);
  });

  describe('a narrow key', () => {
    test('makes no keys', async () => {
      const narrow = await keyed(accounts.admin, 'narrow', ['links:read', 'links:write', 'stats:read']);
      await expect(keys.create(narrow, { name: 'x', scopes: ['links:read'] })).rejects.toEqual(
        refusal('forbidden'),
      );
    });

    test('sees and manages itself and no other', async () => {
      const whole = await keyed(accounts.member, 'whole');
      const narrow = await keyed(accounts.member, 'narrow', ['links:read']);
      expect((await keys.list(narrow, page)).keys.map(({ id }) => id)).toEqual(['narrow']);
      expect((await keys.list(whole, page)).keys).toHaveLength(2);
      await expect(keys.revoke(narrow, 'whole')).rejects.toEqual(refusal('not_found'));
      await expect(keys.rotate(narrow, 'whole', 0)).rejects.toEqual(refusal('not_found'));
      expect((await keys.rotate(narrow, 'narrow', 0)).key.scopes).toEqual(['links:read']);
      await keys.revoke(narrow, 'narrow');
      await keys.revoke(whole, 'whole');
    });
  });

  test('the keys of others are managed by admins and hidden from all other accounts', async () => {
    const member = session(accounts.member);
    await keyed(accounts.other, 'foreign');
    await expect(keys.list(member, page, 'acc_other')).rejects.toEqual(refusal('forbidden'));
    await expect(keys.list(member, page, 'acc_nobody')).rejects.toEqual(refusal('forbidden'));
    await expect(keys.create(member, { name: 'x', accountId: 'acc_other' })).rejects.toEqual(
      refusal('forbidden'),
    );
    for (const keyId of ['foreign', 'of nobody']) {
      await expect(keys.revoke(member, keyId)).rejects.toEqual(refusal('not_found'));
      await expect(keys.rotate(member, keyId, 0)).rejects.toEqual(refusal('not_found'));
    }
    const admin = session(accounts.admin);
    expect((await keys.list(admin, page, 'acc_other')).keys.map(({ id }) => id)).toEqual(['foreign']);
    expect((await keys.create(admin, { name: 'x', accountId: 'acc_other' })).key.accountId).toBe('acc_other');
    await expect(keys.list(admin, page, 'acc_nobody')).rejects.toEqual(refusal('not_found'));
    await keys.revoke(admin, 'foreign');
    await expect(keys.revoke(admin, 'foreign')).rejects.toEqual(refusal('not_found'));
  });

  test('an admin’s key without the scope for it manages no other account’s keys', async () => {
    await keyed(accounts.other, 'foreign');
    const narrow = await keyed(accounts.admin, 'narrow', ['links:read']);
    await expect(keys.revoke(narrow, 'foreign')).rejects.toEqual(refusal('not_found'));
    await expect(keys.list(narrow, page, 'acc_other')).rejects.toEqual(refusal('forbidden'));
  });

  test('a rotation gives another secret and ends the old one at once, or later if asked to', async () => {
    const actor = session(accounts.member);
    const first = await keys.create(actor, { name: 'x' });
    const second = await keys.rotate(actor, first.key.id, 0);
    expect(second.key.id).toBe(first.key.id);
    await expect(credentials.authenticate(first.secret)).rejects.toEqual(refusal('unauthorized'));
    const third = await keys.rotate(actor, first.key.id, 60_000);
    for (const { secret } of [second, third]) {
      expect(await credentials.authenticate(secret)).toMatchObject({ keyId: first.key.id });
    }
    clock.advance(60_000);
    await expect(credentials.authenticate(second.secret)).rejects.toEqual(refusal('unauthorized'));
    expect(await credentials.authenticate(third.secret)).toMatchObject({ keyId: first.key.id });
  });

  test('revoking a key also revokes the secret before its rotation', async () => {
    const actor = session(accounts.member);
    const first = await keys.create(actor, { name: 'x' });
    const second = await keys.rotate(actor, first.key.id, 60_000);
    await keys.revoke(actor, first.key.id);
    for (const { secret } of [first, second]) {
      await expect(credentials.authenticate(secret)).rejects.toEqual(refusal('unauthorized'));
    }
  });

  test('a key that does not work, or that the settings name, is not rotated', async () => {
    const actor = session(accounts.admin);
    for (const [id, overrides, code] of [
      ['revoked', { revokedAt: 1 }, 'not_found'],
      ['expired', { expiresAt: clock.now() }, 'not_found'],
      ['setting', { origin: 'setting' }, 'forbidden'],
    ] as const) {
      await store.insertKey(fakeKey(id, 'acc_admin', overrides), fakeNote());
      await expect(keys.rotate(actor, id, 0)).rejects.toEqual(refusal(code));
    }
  });

  test('a missing account has no keys', async () => {
    await expect(keys.list(anonymous, page)).rejects.toEqual(refusal('unauthorized'));
    await expect(keys.create(anonymous, { name: 'x' })).rejects.toEqual(refusal('unauthorized'));
  });
});
