import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { actorOf, anonymous, scopesOfRole } from './account.ts';
import { fakeAccount, fakeActor, fakeKey, fakeNote } from './fake-actors.ts';
import { fakeAccountStore } from './fake-store.ts';
import { hashSecret } from './secrets.ts';
import { createSessions, type Sessions, sessionIdleMaxMs, sessionLifeMaxMs } from './sessions.ts';
import type { AccountStore } from './store.ts';

const minuteMs = 60_000;

describe('a session', () => {
  const account = fakeAccount('acc_1', { role: 'moderator', plan: 'pro' });
  let clock: ManualClock;
  let store: AccountStore;
  let sessions: Sessions;
  let touched: Promise<void> | undefined;
  /** Also waits until the use of the session is recorded. */
  const authenticate = async (token: string) => {
    const actor = await sessions.authenticate(token);
    await touched;
    return actor;
  };
  beforeEach(async () => {
    clock = new ManualClock();
    const engine = fakeAccountStore();
    store = { ...engine, touchSession: (...touch) => (touched = engine.touchSession(...touch)) };
    sessions = createSessions(store, clock, seededRandom(1));
    await store.insertAccount(account, fakeNote());
    await store.insertAccount(fakeAccount('acc_admin', { role: 'admin' }), fakeNote());
  });

  const open = (keyId?: string) => {
    const key = keyId === undefined ? null : { id: keyId, hash: `hash of ${keyId}` };
    return sessions.open(account, { key, userAgent: 'Firefox' });
  };
  const ended = expect.objectContaining({ code: 'unauthorized' });

  test('acts for its account with everything that the role allows at that moment', async () => {
    const { session, token } = await open();
    const actor = { kind: 'account', accountId: 'acc_1', plan: 'pro', keyId: null, sessionId: session.id };
    expect(await authenticate(token)).toEqual({
      ...actor,
      isAdmin: false,
      scopes: new Set(scopesOfRole.moderator),
    } as never);
    await store.changeAccount('acc_1', { role: 'admin' }, fakeNote());
    expect(await authenticate(token)).toMatchObject({ isAdmin: true });
    await store.changeAccount('acc_1', { role: 'member' }, fakeNote());
    expect(await authenticate(token)).toMatchObject({ scopes: new Set(scopesOfRole.member) });
  });

  test('has a token of 256 bits of which only the hash is kept', async () => {
    const { token } = await open();
    expect(token).toMatch(/^session_[\w-]{43}$/);
    const [kept] = await store.listSessions('acc_1');
    expect(kept?.tokenHash).toBe(hashSecret(token));
    expect(JSON.stringify(kept)).not.toContain(token.slice(8));
    await expect(authenticate(`${token}x`)).rejects.toEqual(ended);
    await expect(authenticate('')).rejects.toEqual(ended);
  });

  test('lasts while it is used, and ends when it is idle for too long', async () => {
    const { token } = await open();
    for (let round = 0; round < 3; round += 1) {
      clock.advance(sessionIdleMaxMs - minuteMs);
      expect((await authenticate(token)).kind).toBe('account');
    }
    clock.advance(sessionIdleMaxMs);
    await expect(authenticate(token)).rejects.toEqual(ended);
  });

  test('ends when it is too old, however busy', async () => {
    const { token } = await open();
    for (let age = 0; age < sessionLifeMaxMs - sessionIdleMaxMs / 2; age += sessionIdleMaxMs / 2) {
      await authenticate(token);
      clock.advance(sessionIdleMaxMs / 2);
    }
    clock.set((await store.listSessions('acc_1'))[0]!.createdAt + sessionLifeMaxMs - 1);
    await authenticate(token);
    clock.advance(1);
    await expect(authenticate(token)).rejects.toEqual(ended);
  });

  test('is recorded as seen at most once a minute', async () => {
    const { token } = await open();
    const opened = clock.now();
    const lastSeen = async () => (await store.listSessions('acc_1'))[0]?.lastSeenAt;
    clock.advance(minuteMs - 1);
    await authenticate(token);
    expect(await lastSeen()).toBe(opened);
    clock.advance(1);
    await authenticate(token);
    expect(await lastSeen()).toBe(clock.now());
  });

  test('that a key has opened ends with the key', async () => {
    await store.insertKey(fakeKey('key_1', 'acc_1', { expiresAt: clock.now() + 5 * minuteMs }), fakeNote());
    await store.insertKey(fakeKey('key_2', 'acc_1'), fakeNote());
    const [byExpiring, byRevoked] = [await open('key_1'), await open('key_2')];
    for (const { token } of [byExpiring, byRevoked]) await authenticate(token);
    await store.revokeKey('acc_1', 'key_2', fakeNote());
    await expect(authenticate(byRevoked.token)).rejects.toEqual(ended);
    clock.advance(5 * minuteMs);
    await expect(authenticate(byExpiring.token)).rejects.toEqual(ended);
  });

  test('of a suspended account is rejected, and none is opened for it', async () => {
    const { token } = await open();
    await store.changeAccount('acc_1', { suspendedAt: 1 }, fakeNote());
    const suspended = expect.objectContaining({ code: 'account_suspended' });
    await expect(authenticate(token)).rejects.toEqual(suspended);
    const opened = sessions.open({ ...account, suspendedAt: 1 }, { key: null, userAgent: '' });
    await expect(opened).rejects.toEqual(suspended);
  });

  test('is seen and ended by its own account only', async () => {
    const [one, two] = [await open(), await open()];
    clock.advance(1);
    const self = actorOf(account, { sessionId: one.session.id });
    expect((await sessions.list(self)).map(({ id }) => id).sort()).toEqual(
      [one.session.id, two.session.id].sort(),
    );
    expect(await sessions.list(fakeActor('acc_admin', { role: 'admin' }))).toEqual([]);
    const missing = expect.objectContaining({ code: 'not_found' });
    await expect(sessions.end(fakeActor('acc_admin', { role: 'admin' }), two.session.id)).rejects.toEqual(
      missing,
    );
    await sessions.end(self, two.session.id);
    await expect(sessions.end(self, two.session.id)).rejects.toEqual(missing);
    await expect(authenticate(two.token)).rejects.toEqual(ended);
    expect((await authenticate(one.token)).kind).toBe('account');
  });

  test('is hidden from a key with fewer scopes than its account', async () => {
    const { session } = await open();
    const key = fakeKey('narrow', 'acc_1', { scopes: ['links:read'] });
    const narrow = actorOf(account, { key });
    const forbidden = expect.objectContaining({ code: 'forbidden' });
    await expect(sessions.list(narrow)).rejects.toEqual(forbidden);
    await expect(sessions.end(narrow, session.id)).rejects.toEqual(forbidden);
    await expect(sessions.list(anonymous)).rejects.toEqual(ended);
  });

  test('that has ended is not listed', async () => {
    await open();
    clock.advance(sessionIdleMaxMs);
    expect(await sessions.list(actorOf(account, { sessionId: null }))).toEqual([]);
  });

  test('that has lost its key is not listed either', async () => {
    for (const id of ['key_1', 'key_2']) await store.insertKey(fakeKey(id, 'acc_1'), fakeNote());
    const [, kept] = [await open('key_1'), await open('key_2')];
    await store.revokeKey('acc_1', 'key_1', fakeNote());
    const listed = await sessions.list(actorOf(account, { sessionId: null }));
    expect(listed.map(({ id }) => id)).toEqual([kept.session.id]);
  });

  test('keeps a user agent short and well-formed', async () => {
    const { session } = await sessions.open(account, { key: null, userAgent: '😀'.repeat(40_000) });
    expect(session.userAgent.length).toBeLessThanOrEqual(200);
    expect(session.userAgent.isWellFormed()).toBe(true);
  });
});
