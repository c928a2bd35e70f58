/** The operators' blocklist entries of DynamoDB as a part of a migration. There are few, so they are read together. */
import type { Transfer } from '../../../base/transfer.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { OperatorEntry } from '../../operator-entries.ts';
import type { AbuseTransfers } from '../../transfer.ts';
import { type EntryItem, entryKey, entryPrefix, type HeadItem, headKey, partition } from './store.ts';

export const dynamoAbuseTransfers = (dynamo: Dynamo): AbuseTransfers => ({
  blockEntries: blockEntriesTransfer(dynamo),
});

function blockEntriesTransfer(dynamo: Dynamo): Transfer<OperatorEntry> {
  const recordOf = ({ record }: EntryItem) => ({ key: record.id, value: record });

  const readAll = async (): Promise<EntryItem[]> => {
    const entries: EntryItem[] = [];
    const query = { pk: partition, range: { prefix: entryPrefix } } as const;
    // There is a most that are kept, so this ends.
    for (let page = await dynamo.query<EntryItem>(query); ; ) {
      entries.push(...page.items);
      if (page.next === undefined) return entries.sort((one, other) => one.addition - other.addition);
      page = await dynamo.query<EntryItem>({ ...query, start: page.next });
    }
  };
  /** The head counts what is there; written last, so that what was cut off is counted the next time. */
  const count = async (): Promise<void> => {
    const entries = await readAll();
    const head = await dynamo.get<HeadItem>(headKey);
    const version = Math.max(head?.version ?? 0, entries.at(-1)?.addition ?? 0) + 1;
    await dynamo.write({ put: { ...headKey, version, kept: entries.length } });
  };

  return {
    part: 'blocklist entries',
    async page(cursor, limit) {
      const after = cursor === undefined ? -1 : Number(cursor);
      const rest = (await readAll()).filter(({ addition }) => addition > after);
      const page = rest.slice(0, limit);
      return {
        records: page.map(recordOf),
        next: rest.length > limit ? String(page.at(-1)!.addition) : undefined,
      };
    },
    async read(ids) {
      const items = await dynamo.getMany<EntryItem>(ids.map(entryKey));
      return items.flatMap(item => (item === undefined ? [] : recordOf(item)));
    },
    async write(records) {
      const present = await readAll();
      const additionOf = new Map(present.map(({ record, addition }) => [record.id, addition]));
      let last = present.at(-1)?.addition ?? 0;
      const puts = records.map(({ key, value }) => {
        if (!additionOf.has(key)) last += 1;
        const addition = additionOf.get(key) ?? last;
        return { put: { ...entryKey(key), addition, record: { ...value } } };
      });
      await dynamo.batchWrite(puts);
      await count();
    },
    async remove(ids) {
      await dynamo.batchWrite(ids.map(id => ({ remove: entryKey(id) })));
      await count();
    },
  };
}
