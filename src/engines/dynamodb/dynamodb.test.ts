import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { patientCalls } from '../../../test/kit/dynamo-links.ts';
import { type DynamoProxy, startDynamoProxy } from '../../../test/kit/dynamo-proxy.ts';
import { type DynamoTable, freshDynamoTable } from '../../../test/kit/dynamo-table.ts';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { type Dynamo, openDynamo } from './dynamodb.ts';
import { isNew, type Key } from './expressions.ts';

const key = (pk: string, sk = '-'): Key => ({ pk, sk });

describeWithEngine('dynamodb', 'DynamoDB as the drivers see it', () => {
  let table: DynamoTable;
  let dynamo: Dynamo;
  beforeAll(async () => {
    table = await freshDynamoTable();
    dynamo = table.dynamo;
  });
  afterAll(() => table.dispose());

  test('an item is put on its condition, read, changed and removed', async () => {
    const put = { ...key('one'), name: 'first', ids: new Set([1, 2]), bytes: new Uint8Array([0, 255]) };
    expect(await dynamo.write({ put, condition: isNew })).toBe(true);
    expect(await dynamo.write({ put: { ...put, name: 'second' }, condition: isNew })).toBe(false);
    expect(await dynamo.get<typeof put>(key('one'))).toEqual(put);
    expect(await dynamo.get(key('other'))).toBeUndefined();
    const count = {
      update: key('one'),
      // Both names are reserved words of the engine.
      expression: 'SET #count = if_not_exists(#count, :none) + :one REMOVE #name',
      condition: 'attribute_not_exists(#count) OR #count < :max',
      values: { none: 0, one: 1, max: 1 },
    };
    expect(await dynamo.update<{ name: string }>(count, 'old')).toEqual(put);
    expect(await dynamo.update(count, 'old')).toBeUndefined();
    expect(await dynamo.get<Key>(key('one'))).toMatchObject({ count: 1 });
    const gone = { remove: key('one'), condition: { expression: '#count = :one', values: { one: 1 } } };
    expect(await dynamo.write(gone)).toBe(true);
    expect(await dynamo.write(gone)).toBe(false);
    expect(
      await dynamo.update<{ at: number }>(
        { update: key('one'), expression: 'SET #at = :at', values: { at: 1 } },
        'old',
      ),
    ).toEqual({});
  });

  test('a transaction is done as a whole, or says which of its conditions did not hold', async () => {
    await dynamo.write({ put: { ...key('there'), state: 'a' } });
    const isB = { expression: '#state = :b', values: { b: 'b' } };
    const outcome = await dynamo.transact([
      { put: key('new'), condition: isNew },
      { put: key('there'), condition: isNew },
      { update: key('counter'), expression: 'ADD #count :one', values: { one: 1 } },
    ]);
    expect(outcome).toEqual({ kind: 'refused', failed: [1] });
    expect(await dynamo.get(key('new'))).toBeUndefined();
    expect(await dynamo.get(key('counter'))).toBeUndefined();
    const wrong = [
      { check: key('there'), condition: isB },
      { remove: key('new'), condition: { expression: 'attribute_exists(#pk)' } },
    ];
    expect(await dynamo.transact(wrong)).toEqual({ kind: 'refused', failed: [0, 1] });
    const right = [
      { check: key('there'), condition: { expression: '#state = :a', values: { a: 'a' } } },
      { put: key('new'), condition: isNew },
    ];
    expect(await dynamo.transact(right)).toEqual({ kind: 'done' });
    expect(await dynamo.get<Key>(key('new'))).toEqual(key('new'));
  });

  test('a partition is read in either order, from and to any bound, page by page', async () => {
    const all = ['a1', 'a2', 'b1', 'b2', 'c1'];
    await dynamo.batchWrite(all.map(sk => ({ put: key('range', sk) })));
    const found = async (query: object) =>
      (await dynamo.query<Key>({ pk: 'range', ...query })).items.map(({ sk }) => sk);
    expect(await found({})).toEqual(all);
    expect(await found({ descending: true, limit: 2 })).toEqual(['c1', 'b2']);
    expect(await found({ range: { from: 'a2', to: 'b2' } })).toEqual(['a2', 'b1', 'b2']);
    expect(await found({ range: { from: 'b2' } })).toEqual(['b2', 'c1']);
    expect(await found({ range: { to: 'a2' } })).toEqual(['a1', 'a2']);
    expect(await found({ range: { above: 'b2' } })).toEqual(['c1']);
    expect(await found({ range: { below: 'a2' } })).toEqual(['a1']);
    expect(await found({ range: { prefix: 'b' } })).toEqual(['b1', 'b2']);
    const first = await dynamo.query<Key>({ pk: 'range', limit: 3 });
    const second = await dynamo.query<Key>({ pk: 'range', start: first.next });
    expect([...first.items, ...second.items].map(({ sk }) => sk)).toEqual(all);
    expect(second.next).toBeUndefined();
  });

  test('many items are written and read in one call, in the order asked for', async () => {
    const keys = Array.from({ length: 130 }, (_, n) => key('many', String(n)));
    await dynamo.batchWrite(keys.map((one, n) => ({ put: { ...one, n } })));
    const wanted = [...keys.toReversed(), key('many', 'none'), keys[5]!];
    const rows = await dynamo.getMany<{ n: number }>(wanted);
    expect(rows.map(row => row?.n)).toEqual([...keys.map((_, n) => 129 - n), undefined, 5]);
    await dynamo.batchWrite(keys.map(remove => ({ remove })));
    expect((await dynamo.query({ pk: 'many' })).items).toEqual([]);
    expect(await dynamo.getMany([])).toEqual([]);
  });

  test('a batch has the items that there are, near ones too', async () => {
    const keys = Array.from({ length: 100 }, (_, n) => key(`item ${n}`));
    await dynamo.batchWrite(keys.slice(1).map((one, n) => ({ put: { ...one, n } })));
    for (const near of [false, true]) {
      const rows = await dynamo.getBatch<{ n: number }>(keys, { near, deadlineMs: 10_000 });
      expect(rows.size).toBe(99);
      expect(rows.get('item 0')).toBeUndefined();
      expect(rows.get('item 70')).toMatchObject({ n: 69 });
    }
  });

  test('a request that the engine does not understand is a fault of ours, and not an engine that is down', async () => {
    const empty = dynamo.write({ update: key('one'), expression: 'SET nonsense' });
    await expect(empty).rejects.toMatchObject({ name: 'ValidationException' });
  });

  test('a table that is not there is a store that is not available', async () => {
    const url = new URL(table.url);
    url.hostname = 'nothing_here';
    const nowhere = openDynamo(url.href, { clock: systemClock, random: systemRandom });
    await expect(nowhere.get(key('one'))).rejects.toMatchObject({ code: 'store_unavailable' });
    nowhere.close();
  });

  describe('when the engine throttles', () => {
    let proxy: DynamoProxy;
    let through: Dynamo;
    beforeEach(() => {
      proxy = startDynamoProxy(table.url);
      through = openDynamo(proxy.url, { clock: systemClock, random: systemRandom, ...patientCalls });
    });
    afterEach(async () => {
      through.close();
      await proxy.stop();
    });

    test.each(['throttled', 'limit-exceeded', 'conflict'] as const)(
      'a write that is %s is repeated',
      async fault => {
        proxy.fault('PutItem', fault, 4);
        expect(await through.write({ put: key(fault), condition: isNew })).toBe(true);
        expect(proxy.calls('PutItem')).toBe(5);
        expect(await dynamo.get<Key>(key(fault))).toEqual(key(fault));
      },
    );

    test('reads and queries are repeated', async () => {
      await dynamo.write({ put: key('read') });
      proxy.fault('GetItem', 'throttled', 3);
      expect(await through.get<Key>(key('read'))).toEqual(key('read'));
      proxy.fault('Query', 'limit-exceeded', 3);
      expect((await through.query<Key>({ pk: 'read' })).items).toEqual([key('read')]);
      expect(through.retries).toBe(6);
    });

    test('a transaction that met another is repeated, and is done once', async () => {
      proxy.fault('TransactWriteItems', 'cancelled', 3);
      const count = { update: key('met'), expression: 'ADD #count :one', values: { one: 1 } };
      expect(await through.transact([count, { put: key('met too'), condition: isNew }])).toEqual({
        kind: 'done',
      });
      expect(proxy.calls('TransactWriteItems')).toBe(4);
      expect(await dynamo.get<object>(key('met'))).toEqual({ ...key('met'), count: 1 });
    });

    test('a transaction whose answer was lost is not refused by what it has done itself', async () => {
      proxy.fault('TransactWriteItems', 'answer-lost', 1);
      expect(await through.transact([{ put: key('lost'), condition: isNew }])).toEqual({ kind: 'done' });
      expect(proxy.calls('TransactWriteItems')).toBe(2);
    });

    test('what a batch left undone is done in the end, of writes and of reads', async () => {
      const keys = Array.from({ length: 60 }, (_, n) => key('batch', String(n)));
      proxy.fault('BatchWriteItem', 'unprocessed', 5);
      await through.batchWrite(keys.map(put => ({ put })));
      expect((await dynamo.query({ pk: 'batch' })).items).toHaveLength(60);
      proxy.fault('BatchGetItem', 'unprocessed', 4);
      expect(await through.getMany<Key>(keys)).toEqual(keys);
      expect(proxy.calls('BatchGetItem')).toBe(5);
    });

    test('what a batch left for later delays nothing else, and is read in the end', async () => {
      const keys = Array.from({ length: 10 }, (_, n) => key(`later ${n}`));
      await dynamo.batchWrite(keys.map(put => ({ put })));
      proxy.fault('BatchGetItem', 'unprocessed', 2);
      const rows = await through.getBatch<Key>(keys, { near: false, deadlineMs: 10_000 });
      expect(proxy.calls('BatchGetItem')).toBe(1);
      const late = [...rows.values()].filter(row => row instanceof Promise);
      expect([rows.size, late.length]).toEqual([10, 5]);
      expect(await Promise.all(rows.values())).toEqual(expect.arrayContaining(keys));
      expect(proxy.calls('BatchGetItem')).toBe(3);
    });

    test('what a batch leaves undone until its deadline is not available, and the rest is', async () => {
      await dynamo.batchWrite(['soon', 'never'].map(pk => ({ put: key(pk) })));
      proxy.fault('BatchGetItem', 'unprocessed', Number.POSITIVE_INFINITY);
      const rows = await through.getBatch<Key>([key('soon'), key('never')], { near: false, deadlineMs: 300 });
      proxy.fault('BatchGetItem', 'undone', Number.POSITIVE_INFINITY);
      const outcomes = await Promise.allSettled(rows.values());
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      const failed = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
      expect(failed.reason).toMatchObject({ code: 'store_unavailable' });
    });

    test('a batch that is never done ends as a store that is not available', async () => {
      const hurried = openDynamo(proxy.url, {
        clock: systemClock,
        random: { ...systemRandom, float: () => 0 },
      });
      proxy.fault('BatchWriteItem', 'undone', Number.POSITIVE_INFINITY);
      const never = hurried.batchWrite([{ put: key('never') }]);
      await expect(never).rejects.toMatchObject({ code: 'store_unavailable' });
      expect(proxy.calls('BatchWriteItem')).toBe(12);
      hurried.close();
    });
  });
});
