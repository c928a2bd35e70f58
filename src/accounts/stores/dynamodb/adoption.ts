/**
 * How the setting's key becomes valid, whatever it was before: unknown, an account's key of now, the secret that a key
 * had before it was rotated, or a key of another account, which then moves. The setting's earlier keys are revoked.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AuditRecord } from '../../../base/audit-entry.ts';
import { isNew, type TransactItem } from '../../../engines/dynamodb/expressions.ts';
import { type Plan, unchanged } from '../../../engines/dynamodb/steps.ts';
import type { ApiKey } from '../../account.ts';
import { type ChangeNote, keyRecord } from '../../change-note.ts';
import { type KeyItem, type KeyPointer, pointerKey, putKey, putKeyPointer } from './items.ts';
import { countAt, noteStanding, putHead, readHead, readKeys, readPointedKey } from './key-items.ts';
import type { AccountParts } from './parts.ts';

interface KeyChange {
  /** Undefined for a key that is made. */
  readonly before: KeyItem | undefined;
  readonly after: ApiKey;
}

export async function planAdoption(
  { dynamo, auditItems }: AccountParts,
  key: ApiKey,
  note: ChangeNote,
): Promise<Plan<void> | undefined> {
  // Read first, because it guards all that is read of the account's keys afterwards.
  const ownHead = await readHead(dynamo, key.accountId);
  const pointer = await dynamo.get<KeyPointer>(pointerKey('key-hash', key.keyHash));
  const holder = await readPointedKey(dynamo, pointer);
  if (pointer !== undefined && holder === undefined) return undefined;

  const { changes, records } = changesFor(key, note, holder, await readKeys(dynamo, key.accountId));
  if (changes.length === 0) return { answer: undefined };
  const heads: TransactItem[] = [];
  for (const accountId of accountsOf(changes)) {
    const head = accountId === key.accountId ? ownHead : await readHead(dynamo, accountId);
    const count = countAt(head, note.at);
    for (const { before, after } of changes) {
      if (before?.record.accountId === accountId) {
        count.total -= 1;
        count.live.delete(before.record.id);
      }
      if (after.accountId === accountId) {
        count.total += 1;
        noteStanding(count, after, note.at);
      }
    }
    heads.push(putHead(accountId, head, count));
  }
  const items = changes.flatMap(change => keyItems(change, pointer));
  return { answer: undefined, writes: [...heads, ...items, ...(await auditItems.itemsOf(records))] };
}

function changesFor(
  key: ApiKey,
  note: ChangeNote,
  holder: KeyItem | undefined,
  keys: readonly KeyItem[],
): { changes: readonly KeyChange[]; records: readonly AuditRecord[] } {
  const changes = new Map<string, KeyChange>();
  const records: AuditRecord[] = [];
  const change = (before: KeyItem | undefined, after: ApiKey): void => {
    changes.set(after.id, { before, after });
    records.push(keyRecord(note, before?.record, after));
  };

  for (const earlier of keys) {
    const { origin, revokedAt, keyHash } = earlier.record;
    if (origin !== 'setting' || revokedAt !== null || keyHash === key.keyHash) continue;
    change(earlier, { ...earlier.record, revokedAt: note.at });
  }
  if (holder?.record.keyHash === key.keyHash) {
    const known = holder.record;
    const { accountId, scopes } = key;
    const whole = { accountId, scopes, origin: 'setting', expiresAt: null, revokedAt: null } as const;
    const after: ApiKey = { ...known, ...whole };
    if (!isDeepStrictEqual(after, known)) change(holder, after);
  } else {
    if (holder !== undefined) {
      // A secret opens one key: the rotated one that had it before gives it up.
      const { after } = changes.get(holder.record.id) ?? { after: holder.record };
      const poorer: ApiKey = { ...after, previousHash: null, previousUntil: null };
      changes.set(holder.record.id, { before: holder, after: poorer });
    }
    change(undefined, key);
  }
  return { changes: [...changes.values()], records };
}

const accountsOf = (changes: readonly KeyChange[]): ReadonlySet<string> =>
  new Set(
    changes.flatMap(({ before, after }) => [before?.record.accountId ?? after.accountId, after.accountId]),
  );

/** `pointer` is where the adopted secret led to before. */
function keyItems({ before, after }: KeyChange, pointer: KeyPointer | undefined): TransactItem[] {
  if (before?.record.accountId === after.accountId) return [putKey(after, before)];
  const stillThere =
    pointer === undefined ? isNew : { expression: '#keyId = :keyId', values: { keyId: pointer.keyId } };
  const { id, keyHash, previousHash } = after;
  return [
    ...(before === undefined ? [] : [{ remove: before, condition: unchanged(before) }]),
    putKey(after, undefined),
    putKeyPointer('key', id, after, before === undefined ? isNew : undefined),
    putKeyPointer('key-hash', keyHash, after, stillThere),
    ...(previousHash === null ? [] : [putKeyPointer('key-hash', previousHash, after, undefined)]),
  ];
}
