/**
 * The first admin and its first key, in one transaction. Of many processes that start at once one gets its own through;
 * the others are refused by the count of admins, or by the head of the account's keys, and look again.
 */
import { type Plan, unchanged } from '../../../engines/dynamodb/steps.ts';
import type { ApiKey } from '../../account.ts';
import { accountRecord, type ChangeNote, keyRecord } from '../../change-note.ts';
import { unseenKeyOf } from '../../first-key.ts';
import { type AccountStore, isActiveAdmin, type SetUp } from '../../store.ts';
import { adminsPartition, firstAdminItems } from './account-items.ts';
import { type AccountItem, type AccountPointer, accountKey } from './items.ts';
import {
  countAt,
  forgetKeyItems,
  newKeyItems,
  noteStanding,
  putHead,
  readHead,
  readKeys,
} from './key-items.ts';
import type { AccountParts } from './parts.ts';

export function createSetUp({ dynamo, steps, auditItems }: AccountParts): AccountStore['setUp'] {
  /** For an account that may be without a key, or whose only one was never seen and is to be given up. */
  const planKey = async (
    item: AccountItem,
    offered: ApiKey,
    note: ChangeNote,
    abandonedKeyId: string | undefined,
  ): Promise<Plan<SetUp>> => {
    const account = item.record;
    // Read first, because it guards all that is read of the keys afterwards.
    const head = await readHead(dynamo, account.id);
    const existing = await readKeys(dynamo, account.id, 2);
    const unseen = unseenKeyOf(existing.map(({ record }) => record));
    const isOpen = existing.length > 0 || account.passwordHash !== null;
    if (isOpen && (unseen === undefined || unseen.id !== abandonedKeyId)) {
      return { answer: { account, keyed: false, unseenKeyId: unseen?.id } };
    }
    const key = { ...offered, accountId: account.id };
    const count = countAt(head, note.at);
    for (const { record } of existing) count.live.delete(record.id);
    count.total += 1 - existing.length;
    noteStanding(count, key, note.at);
    const { writes, secret } = newKeyItems(key);
    return {
      answer: { account, keyed: true, unseenKeyId: undefined },
      writes: [
        { check: item, condition: unchanged(item) },
        putHead(account.id, head, count),
        ...existing.flatMap(forgetKeyItems),
        ...writes,
        ...(await auditItems.itemsOf([keyRecord(note, undefined, key)])),
      ],
      refused: failed =>
        failed.includes(secret) ? { account, keyed: false, unseenKeyId: undefined } : undefined,
    };
  };

  return (candidate, offered, note, abandonedKeyId) => {
    /** Whether the secret opens a key already: then the admin is made without it, and the caller adopts it. */
    let isTaken = false;
    const planFirst = async (): Promise<Plan<SetUp>> => {
      const key = { ...offered, accountId: candidate.id };
      const count = countAt(undefined, note.at);
      count.total = 1;
      noteStanding(count, key, note.at);
      const { writes, secret } = newKeyItems(key);
      const made = [accountRecord(note, undefined, candidate), keyRecord(note, undefined, key)];
      return {
        answer: { account: candidate, keyed: !isTaken, unseenKeyId: undefined },
        writes: [
          ...firstAdminItems(candidate),
          ...(isTaken ? [] : [putHead(candidate.id, undefined, count), ...writes]),
          ...(await auditItems.itemsOf(isTaken ? made.slice(0, 1) : made)),
        ],
        refused(failed) {
          isTaken ||= failed.includes(secret);
          return undefined;
        },
      };
    };

    return steps.run('set-up', async () => {
      const { items } = await dynamo.query<AccountPointer>({ pk: adminsPartition, limit: 1 });
      const [first] = items;
      if (first === undefined) return await planFirst();
      const item = await dynamo.get<AccountItem>(accountKey(first.accountId));
      // One that has just stopped being an admin makes way for the next.
      if (item === undefined || !isActiveAdmin(item.record)) return undefined;
      return await planKey(item, offered, note, abandonedKeyId);
    });
  };
}
