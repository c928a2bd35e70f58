/**
 * Creating, listing, rotating and revoking API keys. An actor with full access to an account (a session, or a key with
 * all scopes of the account's role) manages all of its keys; a narrower key sees and manages only itself, so that a
 * leaked one cannot create another that is wider or lives longer. Admins manage all keys. Invariant: no key is created
 * that may do more than its creator, the scope `admin` counting as all of them: an actor that manages accounts can act
 * as any of them.
 */
import type { Clock } from '../base/clock.ts';
import { invalidCursor, Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import {
  type Account,
  type AccountActor,
  type Actor,
  type ApiKey,
  accountActor,
  hasFullAccess,
  type Scope,
  scopesOfRole,
} from './account.ts';
import { noteOf } from './change-note.ts';
import { isDead, keysPerAccountMax } from './key-store.ts';
import { hashSecret, newId, newSecret } from './secrets.ts';
import type { AccountQuery, AccountStore } from './store.ts';

export interface KeyInput {
  readonly name: string;
  /** All scopes of the account's role when omitted. */
  readonly scopes?: readonly Scope[] | undefined;
  readonly expiresAt?: number | null | undefined;
  /** The key's account; the actor's own when omitted. */
  readonly accountId?: string | undefined;
}

export interface NewKey {
  readonly key: ApiKey;
  /** Shown once, and not stored. */
  readonly secret: string;
}

export interface KeyPage {
  readonly keys: readonly ApiKey[];
  readonly nextCursor: string | undefined;
}

export interface Keys {
  list(actor: Actor, page: AccountQuery, accountId?: string): Promise<KeyPage>;
  create(actor: Actor, input: KeyInput): Promise<NewKey>;
  /** The previous secret keeps working for `overlapMs`; the sessions it opened end, except the requesting one. */
  rotate(actor: Actor, keyId: string, overlapMs: number): Promise<NewKey>;
  revoke(actor: Actor, keyId: string): Promise<void>;
}

export function createKeys(store: AccountStore, clock: Clock, random: Random): Keys {
  /** The account whose keys are managed, if the actor may manage all of them. */
  const wholeAccount = async (actor: AccountActor, accountId: string): Promise<Account | undefined> => {
    const isForeign = accountId !== actor.accountId;
    if (isForeign && !actor.isAdmin) throw forbidden('Only admins may manage the keys of others.');
    const account = await store.findAccount(accountId);
    if (account === undefined) throw new Problem('not_found', { detail: 'Account not found.' });
    return isForeign || hasFullAccess(actor, account) ? account : undefined;
  };

  /** A key that the actor may not manage is reported as not found. */
  const managedKey = async (actor: AccountActor, keyId: string): Promise<ApiKey> => {
    const key = await store.findKey(keyId);
    const isOwn = key?.accountId === actor.accountId;
    if (key !== undefined && (isOwn || actor.isAdmin)) {
      if (key.id === actor.keyId || (await wholeAccount(actor, key.accountId)) !== undefined) return key;
    }
    throw noSuchKey();
  };

  return {
    async list(actor, { limit, cursor }, accountId) {
      const asking = accountActor(actor);
      const account = await wholeAccount(asking, accountId ?? asking.accountId);
      const place = cursor === undefined ? undefined : placeOf(cursor);
      const all = await store.listKeys(accountId ?? asking.accountId);
      const rest = all
        .filter(({ id }) => account !== undefined || id === asking.keyId)
        .filter(key => place === undefined || isBehind(key, place))
        .toSorted((one, other) => (isBehind(one, other) ? 1 : -1));
      const keys = rest.slice(0, limit);
      return { keys, nextCursor: rest.length > limit ? cursorOf(keys.at(-1)!) : undefined };
    },

    async create(actor, { name, expiresAt = null, ...input }) {
      const asking = accountActor(actor);
      const account = await wholeAccount(asking, input.accountId ?? asking.accountId);
      if (account === undefined)
        throw forbidden('A key with fewer scopes than its account cannot make keys.');
      acceptExpiry(expiresAt, clock.now());
      const secret = newSecret(random, 'terse');
      const key: ApiKey = {
        id: newId(random, 'key'),
        accountId: account.id,
        name,
        origin: 'issued',
        scopes: grantedScopes(account, input.scopes),
        keyHash: hashSecret(secret),
        previousHash: null,
        previousUntil: null,
        createdAt: clock.now(),
        lastUsedAt: null,
        expiresAt,
        revokedAt: null,
      };
      if ((await store.insertKey(key, noteOf(clock, actor, 'key.created'))) !== 'inserted') {
        throw new Problem('keys_full', {
          detail: `An account has at most ${keysPerAccountMax} keys that work; revoke one first.`,
        });
      }
      return { key, secret };
    },

    async rotate(actor, keyId, overlapMs) {
      const asking = accountActor(actor);
      const before = await managedKey(asking, keyId);
      if (isDead(before, clock.now())) throw noSuchKey();
      if (before.origin === 'setting') {
        throw forbidden('This key is named by the settings of the server; change it there.');
      }
      const secret = newSecret(random, 'terse');
      const { accountId } = before;
      const previousUntil = clock.now() + overlapMs;
      const key = await store.rotateKey(
        {
          accountId,
          keyId,
          keyHash: hashSecret(secret),
          previousUntil,
          exceptSessionId: asking.sessionId,
        },
        noteOf(clock, actor, 'key.rotated'),
      );
      if (key === undefined) throw noSuchKey();
      return { key, secret };
    },

    async revoke(actor, keyId) {
      const { accountId } = await managedKey(accountActor(actor), keyId);
      if (!(await store.revokeKey(accountId, keyId, noteOf(clock, actor, 'key.revoked')))) throw noSuchKey();
    },
  };
}

/** The last moment in a year of four digits, the maximum that the API can represent. */
const lastTimeMs = Date.parse('9999-12-31T23:59:59.999Z');

function acceptExpiry(expiresAt: number | null, now: number): void {
  if (expiresAt === null || (expiresAt > now && expiresAt <= lastTimeMs)) return;
  const detail = expiresAt <= now ? 'The key would have expired already.' : 'The year must have four digits.';
  throw new Problem('invalid_expiry', { detail, fields: { field: 'expiresAt' } });
}

/** In the order of the table, each once; more than the account's role allows is rejected. */
function grantedScopes({ role }: Account, asked: readonly Scope[] | undefined): readonly Scope[] {
  const allowed = scopesOfRole[role];
  const excess = asked?.find(scope => !allowed.includes(scope));
  if (excess !== undefined)
    throw forbidden(`An account with the role “${role}” cannot have the scope “${excess}”.`);
  return asked === undefined ? allowed : allowed.filter(scope => asked.includes(scope));
}

const forbidden = (detail: string): Problem => new Problem('forbidden', { detail });
const noSuchKey = (): Problem => new Problem('not_found', { detail: 'Key not found.' });

/** Where a list of keys continues: after the last one shown. */
interface KeyPlace {
  readonly createdAt: number;
  readonly id: string;
}

const cursorOf = ({ createdAt, id }: KeyPlace): string => `${createdAt.toString(36)}.${id}`;

function placeOf(cursor: string): KeyPlace {
  const [, time, id] = /^([0-9a-z]{1,10})\.([\w-]{1,64})$/.exec(cursor) ?? [];
  if (time !== undefined && id !== undefined) return { createdAt: Number.parseInt(time, 36), id };
  throw invalidCursor();
}

const isBehind = (key: KeyPlace, place: KeyPlace): boolean =>
  key.createdAt > place.createdAt || (key.createdAt === place.createdAt && key.id > place.id);
