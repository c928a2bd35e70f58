import { expect, test } from 'bun:test';
import { freshDynamoTable } from '../../../test/kit/dynamo-table.ts';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { openDynamoRecords } from '../../../test/kit/record-engines.ts';
import { systemClock } from '../../base/clock.ts';
import { noteKind } from '../fake-kinds.ts';
import { recordStoreConformance } from '../record-store.conformance.ts';
import { put } from '../record-store.ts';
import { createDynamoRecords } from './dynamodb.ts';

describeWithEngine('dynamodb', 'records in DynamoDB', () => {
  recordStoreConformance('dynamodb', openDynamoRecords, { sweeps: false, locks: false });

  test('the engine drops the items of an expired record by their TTL', async () => {
    const { dynamo, dispose } = await freshDynamoTable();
    const store = createDynamoRecords(dynamo, systemClock);
    const endsAt = systemClock.now() + 90_500;
    await store.transact([put(noteKind, { id: 'n1', book: 'a', text: 'x', endsAt })]);
    const { items } = await dynamo.scan<{ ttl: number }>({ limit: 10 });
    expect(items.map(({ ttl }) => ttl)).toEqual([Math.ceil(endsAt / 1_000), Math.ceil(endsAt / 1_000)]);
    await dispose();
  });
});
