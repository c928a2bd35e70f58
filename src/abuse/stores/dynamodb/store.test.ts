import { expect, test } from 'bun:test';
import { freshDynamoTable } from '../../../../test/kit/dynamo-table.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { systemActor } from '../../../base/audit-entry.ts';
import { operatorEntriesConformance } from '../../operator-entries.conformance.ts';
import { acceptEntry, operatorEntriesMax } from '../../operator-entries.ts';
import { createDynamoEntryStore } from './store.ts';

const openHere = async () => {
  const table = await freshDynamoTable();
  return {
    ...table,
    store: createDynamoEntryStore(table),
    reopen: async () => createDynamoEntryStore(table.again()),
  };
};

describeWithEngine('dynamodb', 'on DynamoDB', () => {
  operatorEntriesConformance('dynamodb', openHere);

  test('entries beyond the most that are kept are refused', async () => {
    const { store, dynamo, dispose } = await openHere();
    const change = { at: 1, actor: systemActor };
    const add = (text: string) =>
      store.add({ ...acceptEntry(text), reason: null, addedAt: 1, addedBy: null }, change);
    await add('first.example');
    const head = { pk: 'block-entries', sk: 'head', version: 1, kept: operatorEntriesMax - 1 };
    await dynamo.write({ put: head });
    expect(await add('last.example')).toBe('added');
    expect(await add('one-more.example')).toBe('full');
    expect(await add('first.example')).toBe('exists');
    expect(await store.remove(acceptEntry('first.example').id, change)).toBe(true);
    expect(await add('one-more.example')).toBe('added');
    await dispose();
  });
});
