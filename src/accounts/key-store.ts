/** The keys of the account store. Every write that adds a key writes the account's list of them, so that limits hold. */
import { put, type RecordWrite, remove, type Stored } from '../records/record-store.ts';
import type { Account, ApiKey } from './account.ts';
import {
  accountKind,
  type KeyRecord,
  keyKind,
  keyListKind,
  putList,
  readKeys,
  readSessions,
  secretKind,
  sessionKind,
} from './account-records.ts';
import { type ChangeNote, keyRecord } from './change-note.ts';
import type { AccountStoreParts } from './store.ts';

export interface KeyStore {
  /** Makes it the setting's key: valid, whatever it was before; the setting's earlier keys are revoked. */
  adoptKey(key: ApiKey, note: ChangeNote): Promise<void>;
  /** Records that an unseen key was printed: from then on it is like any other. */
  noteSeen(keyId: string): Promise<void>;
  /** `full` when the account has `keysPerAccountMax` working keys; the oldest of very many dead ones are deleted. */
  insertKey(key: ApiKey, note: ChangeNote): Promise<'inserted' | 'taken' | 'full'>;
  /** By the current or the previous secret; the caller decides whether it is still valid. */
  findByKeyHash(keyHash: string): Promise<{ readonly account: Account; readonly key: ApiKey } | undefined>;
  findKey(keyId: string): Promise<ApiKey | undefined>;
  /** All of them, in the order of their creation: the two limits below keep them few. */
  listKeys(accountId: string): Promise<ApiKey[]>;
  /**
   * Gives the key another secret; the one it had works until `previousUntil`, and the sessions that it opened end:
   * rotating a leaked secret must lock out those sessions too. Undefined for a revoked key.
   */
  rotateKey(rotation: KeyRotation, note: ChangeNote): Promise<ApiKey | undefined>;
  /** False when the account has no such unrevoked key. */
  revokeKey(accountId: string, keyId: string, note: ChangeNote): Promise<boolean>;
  touchKey(keyId: string, at: number): Promise<void>;
}

export interface KeyRotation {
  readonly accountId: string;
  readonly keyId: string;
  readonly keyHash: string;
  readonly previousUntil: number;
  /** The session that requests it, which continues; null when none does. */
  readonly exceptSessionId: string | null;
}

/** Limits working keys only. */
export const keysPerAccountMax = 100;
/** Revoked and expired keys that are still listed. */
export const deadKeysMax = 100;

export const isDead = ({ revokedAt, expiresAt }: ApiKey, now: number): boolean =>
  revokedAt !== null || (expiresAt !== null && expiresAt <= now);

/** Whether this is the hash of the current secret, or of the previous one while that is still valid. */
export function opens(key: ApiKey, keyHash: string, now: number): boolean {
  if (isDead(key, now)) return false;
  const isPrevious = keyHash === key.previousHash && key.previousUntil !== null && now < key.previousUntil;
  return keyHash === key.keyHash || isPrevious;
}

/** How many dead keys one insert deletes at most; the next insert deletes more. */
const displacedMax = 5;

export function createKeyStore({ records, audit, changes }: AccountStoreParts): KeyStore {
  const findKey = (id: string) => records.get(keyKind, id);
  const secretOf = (hash: string) => records.get(secretKind, hash);

  const unrevoked = async (accountId: string, keyId: string): Promise<Stored<KeyRecord> | undefined> => {
    const found = await findKey(keyId);
    const key = found?.value.key;
    return key?.accountId === accountId && key.revokedAt === null ? found : undefined;
  };
  const putKey = (before: Stored<KeyRecord>, key: ApiKey): RecordWrite =>
    put(keyKind, { ...before.value, key }, before);
  const revoked = (
    before: Stored<KeyRecord>,
    note: ChangeNote,
    fields: Partial<ApiKey> = {},
  ): RecordWrite[] => {
    const { key } = before.value;
    const after = { ...key, ...fields, revokedAt: note.at };
    return [putKey(before, after), ...audit.writesOf([keyRecord(note, key, after)])];
  };

  return {
    insertKey: (key, note) =>
      changes.run(`account ${key.accountId}`, async () => {
        const [{ list, keys }, holder] = await Promise.all([
          readKeys(records, key.accountId),
          secretOf(key.keyHash),
        ]);
        const dead = keys.filter(({ value }) => isDead(value.key, note.at));
        if (keys.length - dead.length >= keysPerAccountMax) return { answer: 'full' };
        if (holder !== undefined) return { answer: 'taken' };
        const excess = Math.min(displacedMax, Math.max(0, dead.length - deadKeysMax));
        const displaced = dead.slice(0, excess);
        const removals = await Promise.all(displaced.map(each => keyRemoval(records, each)));
        const changed = { added: [key.id], removed: displaced.map(each => each.key) };
        return {
          answer: 'inserted',
          writes: [
            putList(keyListKind, key.accountId, list, changed),
            ...removals.flat(),
            ...newKeyWrites(key),
            ...audit.writesOf([keyRecord(note, undefined, key)]),
          ],
        };
      }),

    adoptKey: (key, note) =>
      changes.run(`account ${key.accountId}`, async () => {
        const [{ list, keys }, secret] = await Promise.all([
          readKeys(records, key.accountId),
          secretOf(key.keyHash),
        ]);
        const holder = secret && (await findKey(secret.value.keyId));
        const replaced = keys.filter(({ value: { key: each } }) => {
          return each.origin === 'setting' && each.revokedAt === null && each.keyHash !== key.keyHash;
        });
        const writes = replaced
          .filter(({ key: id }) => id !== holder?.key)
          .flatMap(each => revoked(each, note));
        const isKnown = holder?.value.key.keyHash === key.keyHash;
        if (isKnown) writes.push(...(await adopted(holder, key, note)));
        else {
          // A secret opens one key: the rotated one that had it before loses it.
          if (holder !== undefined) {
            const lost = { previousHash: null, previousUntil: null };
            const isReplaced = replaced.some(({ key: id }) => id === holder.key);
            if (isReplaced) writes.push(...revoked(holder, note, lost));
            else writes.push(putKey(holder, { ...holder.value.key, ...lost }));
          }
          writes.push(
            put(keyKind, { key, sessionEpoch: 0 }),
            put(secretKind, { hash: key.keyHash, keyId: key.id, accountId: key.accountId }, secret),
            ...audit.writesOf([keyRecord(note, undefined, key)]),
          );
        }
        if (writes.length === 0) return { answer: undefined };
        const added = isKnown ? holder.key : key.id;
        const changed = list?.value.keys.includes(added) === true ? {} : { added: [added] };
        return { answer: undefined, writes: [putList(keyListKind, key.accountId, list, changed), ...writes] };
      }),

    noteSeen: keyId =>
      changes.run(`key ${keyId}`, async () => {
        const found = await findKey(keyId);
        if (found?.value.key.origin !== 'unseen') return { answer: undefined };
        return { answer: undefined, writes: [putKey(found, { ...found.value.key, origin: 'issued' })] };
      }),

    async findByKeyHash(keyHash) {
      const secret = await secretOf(keyHash);
      if (secret === undefined) return undefined;
      const [account, found] = await Promise.all([
        records.get(accountKind, secret.value.accountId),
        findKey(secret.value.keyId),
      ]);
      const key = found?.value.key;
      const isIts = key?.keyHash === keyHash || key?.previousHash === keyHash;
      return account && key && isIts ? { account: account.value.account, key } : undefined;
    },

    findKey: async keyId => (await findKey(keyId))?.value.key,
    listKeys: async accountId => (await readKeys(records, accountId)).keys.map(({ value }) => value.key),

    rotateKey: ({ accountId, keyId, keyHash, previousUntil, exceptSessionId }, note) =>
      changes.run(`account ${accountId}`, async () => {
        const found = await unrevoked(accountId, keyId);
        if (found === undefined) return { answer: undefined };
        const { key: before, sessionEpoch } = found.value;
        const after: ApiKey = { ...before, keyHash, previousHash: before.keyHash, previousUntil };
        const [earlier, kept] = await Promise.all([
          before.previousHash === null ? undefined : secretOf(before.previousHash),
          exceptSessionId === null ? undefined : readSessions(records, accountId),
        ]);
        const asking = kept?.sessions.find(({ value }) => value.session.id === exceptSessionId);
        // A session that another rotation has ended meanwhile stays ended.
        const isKept = asking?.value.session.keyId === keyId && asking.value.keyEpoch === sessionEpoch;
        return {
          answer: after,
          writes: [
            put(keyKind, { key: after, sessionEpoch: sessionEpoch + 1 }, found),
            put(secretKind, { hash: keyHash, keyId, accountId }),
            ...(earlier === undefined ? [] : [remove(secretKind, earlier)]),
            ...(isKept ? [put(sessionKind, { ...asking.value, keyEpoch: sessionEpoch + 1 }, asking)] : []),
            ...audit.writesOf([keyRecord(note, before, after)]),
          ],
        };
      }),

    revokeKey: (accountId, keyId, note) =>
      changes.run(`account ${accountId}`, async () => {
        const found = await unrevoked(accountId, keyId);
        return found === undefined ? { answer: false } : { answer: true, writes: revoked(found, note) };
      }),

    touchKey: (keyId, at) =>
      changes.run(`key ${keyId}`, async () => {
        const found = await findKey(keyId);
        if (found === undefined || (found.value.key.lastUsedAt ?? 0) >= at) return { answer: undefined };
        return { answer: undefined, writes: [putKey(found, { ...found.value.key, lastUsedAt: at })] };
      }),
  };

  /** A known key becomes the setting's, fully valid, with both of its secrets. */
  async function adopted(holder: Stored<KeyRecord>, key: ApiKey, note: ChangeNote): Promise<RecordWrite[]> {
    const known = holder.value.key;
    const { accountId, scopes } = key;
    const after: ApiKey = {
      ...known,
      accountId,
      scopes,
      origin: 'setting',
      expiresAt: null,
      revokedAt: null,
    };
    if (JSON.stringify(after) === JSON.stringify(known)) return [];
    const moves = accountId === known.accountId ? [] : await movedFrom(known, accountId);
    return [putKey(holder, after), ...moves, ...audit.writesOf([keyRecord(note, known, after)])];
  }

  /** Updates the list of the account that loses the key, and the secrets, which contain the account's id. */
  async function movedFrom(known: ApiKey, accountId: string): Promise<RecordWrite[]> {
    const [list, secrets] = await Promise.all([
      records.get(keyListKind, known.accountId),
      records.getMany(secretKind, hashesOf(known)),
    ]);
    return [
      putList(keyListKind, known.accountId, list, { removed: [known.id] }),
      ...secrets.flatMap(each =>
        each === undefined ? [] : put(secretKind, { ...each.value, accountId }, each),
      ),
    ];
  }
}

export const newKeyWrites = (key: ApiKey): RecordWrite[] => [
  put(keyKind, { key, sessionEpoch: 0 }),
  put(secretKind, { hash: key.keyHash, keyId: key.id, accountId: key.accountId }),
];

export async function keyRemoval(
  records: AccountStoreParts['records'],
  found: Stored<KeyRecord>,
): Promise<RecordWrite[]> {
  const secrets = await records.getMany(secretKind, hashesOf(found.value.key));
  return [
    remove(keyKind, found),
    ...secrets.flatMap(secret => (secret === undefined ? [] : [remove(secretKind, secret)])),
  ];
}

const hashesOf = ({ keyHash, previousHash }: ApiKey): string[] =>
  previousHash === null ? [keyHash] : [keyHash, previousHash];

/** The only key, when it was made by a first start and is not known to have been seen or used. */
export function unseenKeyOf(keys: readonly ApiKey[]): ApiKey | undefined {
  const [only, ...others] = keys;
  if (only === undefined || others.length > 0) return undefined;
  return only.origin === 'unseen' && only.lastUsedAt === null && only.revokedAt === null ? only : undefined;
}
