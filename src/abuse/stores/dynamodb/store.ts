/**
 * Operator entries in DynamoDB: a partition of their own, and a head with the number that changes with them. Every
 * change writes the head under the condition that it is as it was read, so that there are never more than may be.
 */
import type { AuditItems } from '../../../engines/dynamodb/audit-items.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { Key, PutItem } from '../../../engines/dynamodb/expressions.ts';
import { partitionOf } from '../../../engines/dynamodb/key-text.ts';
import { nextVersion, type Steps, unchanged } from '../../../engines/dynamodb/steps.ts';
import {
  entryRecord,
  type OperatorEntry,
  type OperatorEntryStore,
  operatorEntriesMax,
} from '../../operator-entries.ts';

export interface EntryStoreParts {
  readonly dynamo: Dynamo;
  readonly steps: Steps;
  readonly auditItems: AuditItems;
}

export interface EntryItem extends Key {
  /** The head's version when it was added, which tells the order. */
  readonly addition: number;
  readonly record: OperatorEntry;
}

export interface HeadItem extends Key {
  readonly version: number;
  readonly kept: number;
}

export const partition = 'block-entries';
const turn = 'block entries';
export const entryPrefix = 'entry#';
export const headKey: Key = { pk: partition, sk: 'head' };
export const entryKey = (id: string): Key => ({ pk: partition, sk: partitionOf('entry', id) });

export function createDynamoEntryStore({ dynamo, steps, auditItems }: EntryStoreParts): OperatorEntryStore {
  /** The head is read first, because it guards what is read afterwards. */
  const readBoth = async (id: string): Promise<[HeadItem | undefined, EntryItem | undefined]> => {
    const head = await dynamo.get<HeadItem>(headKey);
    return [head, await dynamo.get<EntryItem>(entryKey(id))];
  };
  const putHead = (head: HeadItem | undefined, more: 1 | -1): PutItem => ({
    put: { ...headKey, version: nextVersion(head), kept: (head?.kept ?? 0) + more },
    condition: unchanged(head),
  });

  return {
    revision: async () => (await dynamo.get<HeadItem>(headKey))?.version ?? 0,

    async list() {
      const entries: EntryItem[] = [];
      const query = { pk: partition, range: { prefix: entryPrefix } } as const;
      // There is a most that are kept, so this ends.
      for (let page = await dynamo.query<EntryItem>(query); ; ) {
        entries.push(...page.items);
        if (page.next === undefined) break;
        page = await dynamo.query<EntryItem>({ ...query, start: page.next });
      }
      return entries.sort((one, other) => one.addition - other.addition).map(({ record }) => record);
    },

    add: (entry, change) =>
      steps.run(turn, async () => {
        const [head, existing] = await readBoth(entry.id);
        if (existing !== undefined) return { answer: 'exists' };
        if ((head?.kept ?? 0) >= operatorEntriesMax) return { answer: 'full' };
        return {
          answer: 'added',
          writes: [
            putHead(head, 1),
            { put: { ...entryKey(entry.id), addition: nextVersion(head), record: { ...entry } } },
            ...(await auditItems.itemsOf([entryRecord('added', entry, change)])),
          ],
        };
      }),

    remove: (id, change) =>
      steps.run(turn, async () => {
        const [head, existing] = await readBoth(id);
        if (existing === undefined) return { answer: false };
        return {
          answer: true,
          writes: [
            putHead(head, -1),
            { remove: existing },
            ...(await auditItems.itemsOf([entryRecord('removed', existing.record, change)])),
          ],
        };
      }),
  };
}
