/** The writes of API keys, each one transaction with its entry in the audit trail. */
import { isNew, type UpdateItem } from '../../../engines/dynamodb/expressions.ts';
import type { Plan } from '../../../engines/dynamodb/steps.ts';
import type { ApiKey } from '../../account.ts';
import { type ChangeNote, keyRecord } from '../../change-note.ts';
import { deadKeysMax, isDead, type KeyStore, keysPerAccountMax } from '../../key-store.ts';
import { planAdoption } from './adoption.ts';
import { type KeyItem, type KeyPointer, keyKey, pointerKey, putKey, putKeyPointer } from './items.ts';
import {
  countAt,
  forgetKeyItems,
  type KeyCount,
  newKeyItems,
  noteStanding,
  putHead,
  readHead,
  readKey,
  readKeys,
} from './key-items.ts';
import { type AccountParts, turnOf } from './parts.ts';
import { endSessionsItems } from './session-items.ts';

type KeyWrites = Pick<
  KeyStore,
  'adoptKey' | 'noteSeen' | 'insertKey' | 'rotateKey' | 'revokeKey' | 'touchKey'
>;

/** A key dies once, so forgetting one with each new key keeps up; and all of it fits into a transaction. */
const forgottenMax = 1;

export function createKeyWrites(parts: AccountParts): KeyWrites {
  const { dynamo, steps, auditItems } = parts;

  /** The key if it is the account's and not revoked. */
  const readUnrevoked = async (accountId: string, keyId: string): Promise<KeyItem | undefined> => {
    const item = await readKey(dynamo, keyId);
    return item?.record.accountId === accountId && item.record.revokedAt === null ? item : undefined;
  };

  /** The oldest of too many dead keys: among so few that work they are the first of all, or nearly. */
  const readExcess = async (accountId: string, count: KeyCount, now: number): Promise<KeyItem[]> => {
    const excess = Math.min(forgottenMax, count.total - count.live.size - deadKeysMax);
    if (excess <= 0) return [];
    const oldest = await readKeys(dynamo, accountId, count.live.size + excess);
    return oldest.filter(({ record }) => isDead(record, now)).slice(0, excess);
  };

  const planInsert = async (key: ApiKey, note: ChangeNote): Promise<Plan<'inserted' | 'taken' | 'full'>> => {
    const head = await readHead(dynamo, key.accountId);
    const count = countAt(head, note.at);
    if (count.live.size >= keysPerAccountMax) return { answer: 'full' };
    const forgotten = await readExcess(key.accountId, count, note.at);
    count.total += 1 - forgotten.length;
    noteStanding(count, key, note.at);
    const { writes, secret } = newKeyItems(key);
    return {
      answer: 'inserted',
      writes: [
        putHead(key.accountId, head, count),
        ...writes,
        ...forgotten.flatMap(forgetKeyItems),
        ...(await auditItems.itemsOf([keyRecord(note, undefined, key)])),
      ],
      refused: failed => (failed.includes(secret) ? 'taken' : undefined),
    };
  };

  /** What is noted of a key's use rests on nothing that was read, so it needs no turn. */
  const noteOn = async (keyId: string, change: Omit<UpdateItem, 'update'>): Promise<void> => {
    const pointer = await dynamo.get<KeyPointer>(pointerKey('key', keyId));
    if (pointer === undefined) return;
    const expression = `${change.expression} ADD #version :one`;
    await dynamo.write({
      ...change,
      update: keyKey(pointer),
      expression,
      values: { ...change.values, one: 1 },
    });
  };

  return {
    adoptKey: (key, note) => steps.run(turnOf(key.accountId), () => planAdoption(parts, key, note)),

    noteSeen: keyId =>
      noteOn(keyId, {
        expression: 'SET #record.#origin = :issued',
        condition: '#record.#origin = :unseen',
        values: { issued: 'issued', unseen: 'unseen' },
      }),

    insertKey: (key, note) => steps.run(turnOf(key.accountId), () => planInsert(key, note)),

    rotateKey: ({ accountId, keyId, keyHash, previousUntil, exceptSessionId }, note) =>
      steps.run(turnOf(accountId), async () => {
        const item = await readUnrevoked(accountId, keyId);
        if (item === undefined) return { answer: undefined };
        const before = item.record;
        const after: ApiKey = { ...before, keyHash, previousHash: before.keyHash, previousUntil };
        const { previousHash: dropped } = before;
        return {
          answer: after,
          writes: [
            putKey(after, item),
            putKeyPointer('key-hash', keyHash, after, isNew),
            ...(dropped === null ? [] : [{ remove: pointerKey('key-hash', dropped) }]),
            ...(await endSessionsItems(
              dynamo,
              accountId,
              session => session.keyId === keyId && session.id !== exceptSessionId,
            )),
            ...(await auditItems.itemsOf([keyRecord(note, before, after)])),
          ],
        };
      }),

    revokeKey: (accountId, keyId, note) =>
      steps.run(turnOf(accountId), async () => {
        const item = await readUnrevoked(accountId, keyId);
        if (item === undefined) return { answer: false };
        const before = item.record;
        const after: ApiKey = { ...before, revokedAt: note.at };
        const head = await readHead(dynamo, accountId);
        const count = countAt(head, note.at);
        noteStanding(count, after, note.at);
        return {
          answer: true,
          writes: [
            putKey(after, item),
            putHead(accountId, head, count),
            ...(await auditItems.itemsOf([keyRecord(note, before, after)])),
          ],
        };
      }),

    touchKey: (keyId, at) =>
      noteOn(keyId, {
        expression: 'SET #record.#lastUsedAt = :at',
        condition: 'attribute_exists(#pk)',
        values: { at },
      }),
  };
}
