/**
 * Sessions of signed-in browsers. The browser keeps a token of 256 bits in a cookie, we keep its hash. A session ends
 * when it is idle for long, when it is old, when it is ended, when the password changes, and with the key that opened
 * it; and it never does more than the current role of its account allows.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { type Account, type Actor, actorOf, refuseSuspended, wholeAccountOf } from './account.ts';
import { noteOf } from './change-note.ts';
import { isDead } from './key-store.ts';
import { hashSecret, newId, newSecret } from './secrets.ts';
import type { FoundSession, Session } from './session-store.ts';
import type { AccountStore } from './store.ts';

const hourMs = 60 * 60_000;
export const sessionIdleMaxMs = 12 * hourMs;
export const sessionLifeMaxMs = 14 * 24 * hourMs;

/** The last-seen time is written at most this often per session. */
const touchPeriodMs = 60_000;
const userAgentLengthMax = 200;

export interface Sessions {
  /**
   * The token is for the browser alone. `account` is as it was when its password was verified, unless a key was. Throws
   * `sign_in_failed` when what was verified has been replaced since.
   */
  open(
    account: Account,
    by: { readonly key: VerifiedKey | null; readonly userAgent: string },
  ): Promise<{ session: Session; token: string }>;
  /** Throws `unauthorized` for anything that is not the token of a live session. */
  authenticate(token: string): Promise<Actor>;
  list(actor: Actor): Promise<Session[]>;
  end(actor: Actor, sessionId: string): Promise<void>;
}

export interface VerifiedKey {
  readonly id: string;
  /** The hash of the secret that was presented. */
  readonly hash: string;
}

export function createSessions(store: AccountStore, clock: Clock, random: Random): Sessions {
  return {
    async open(account, { key, userAgent }) {
      refuseSuspended(account);
      const now = clock.now();
      const token = newSecret(random, 'session');
      const session: Session = {
        id: newId(random, 'ses'),
        accountId: account.id,
        tokenHash: hashSecret(token),
        keyId: key === null ? null : key.id,
        userAgent: userAgent.slice(0, userAgentLengthMax).toWellFormed(),
        createdAt: now,
        lastSeenAt: now,
        expiresAt: now + sessionLifeMaxMs,
      };
      const opener = actorOf(account, { sessionId: session.id });
      const verifiedHash = key === null ? account.passwordHash : key.hash;
      if (await store.insertSession(session, verifiedHash, noteOf(clock, opener, 'session.opened')))
        return { session, token };
      throw new Problem('sign_in_failed', {
        detail: 'The password or the key has just been changed; sign in with the new one.',
      });
    },

    async authenticate(token) {
      const found = await store.findSession(hashSecret(token));
      const now = clock.now();
      if (found === undefined || hasEnded(found, now)) {
        throw new Problem('unauthorized', { detail: 'Your session has ended; sign in again.' });
      }
      const { session, account } = found;
      refuseSuspended(account);
      // The request does not wait for this; at worst the session seems idle a minute too early.
      if (now - session.lastSeenAt >= touchPeriodMs)
        store.touchSession(session.tokenHash, now).catch(() => {});
      return actorOf(account, { sessionId: session.id });
    },

    async list(actor) {
      const now = clock.now();
      const { id } = await wholeAccountOf(store, actor);
      const sessions = await store.listSessions(id);
      const keys = new Map((await store.listKeys(id)).map(key => [key.id, key]));
      return sessions.filter(session => !hasEnded({ session, key: keys.get(session.keyId ?? '') }, now));
    },

    async end(actor, sessionId) {
      const { id } = await wholeAccountOf(store, actor);
      if (await store.endSession(id, sessionId, noteOf(clock, actor, 'session.ended'))) return;
      throw new Problem('not_found', { detail: 'Session not found.' });
    },
  };
}

function hasEnded({ session, key }: Pick<FoundSession, 'session' | 'key'>, now: number): boolean {
  const lostItsKey = session.keyId !== null && (key === undefined || isDead(key, now));
  return lostItsKey || isOver(session, now);
}

const isOver = ({ lastSeenAt, expiresAt }: Session, now: number): boolean =>
  now >= expiresAt || now >= lastSeenAt + sessionIdleMaxMs;
