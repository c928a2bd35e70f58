import { expect, test } from 'bun:test';
import { freshDynamoTable } from '../../../../test/kit/dynamo-table.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import type { Item } from '../../../engines/dynamodb/expressions.ts';
import { fakeAccount, fakeKey, fakeNote } from '../../fake-actors.ts';
import { fakeSession } from '../../session-store.conformance.ts';
import { accountStoreConformance } from '../../store.conformance.ts';
import { pointerKey } from './items.ts';
import { createDynamoAccountStore } from './store.ts';

const openHere = async () => {
  const table = await freshDynamoTable();
  return {
    ...table,
    store: createDynamoAccountStore(table),
    reopen: async () => createDynamoAccountStore(table.again()),
  };
};

describeWithEngine('dynamodb', 'on DynamoDB', () => {
  accountStoreConformance('dynamodb', openHere);

  test('an id or a hash that is too long for a key of the engine is not found, like any other', async () => {
    const { store, dispose } = await openHere();
    const long = 'x'.repeat(5_000);
    const found = [
      store.findAccount(long),
      store.findAccountByEmail(`${long}@example.com`),
      store.findInvitation(long),
      store.findByKeyHash(long),
      store.findKey(long),
      store.findSession(long),
      store.rotateKey(
        { accountId: long, keyId: long, keyHash: 'a', previousUntil: 1, exceptSessionId: null },
        fakeNote(),
      ),
    ];
    expect(await Promise.all(found)).toEqual(Array(found.length).fill(undefined));
    expect(await store.listKeys(long)).toEqual([]);
    expect(await store.listSessions(long)).toEqual([]);
    expect(await store.revokeKey(long, long, fakeNote())).toBe(false);
    expect(await store.endSession(long, long, fakeNote())).toBe(false);
    expect(await store.changeAccount(long, { name: 'x' }, fakeNote())).toEqual({ kind: 'missing' });
    await dispose();
  });

  test('the engine is told when it may drop what leads to sessions and invitations that are over', async () => {
    const { store, dynamo, dispose } = await openHere();
    await store.insertAccount(fakeAccount('acc_1'), fakeNote());
    await store.insertSession(fakeSession('ses_1', { expiresAt: 90_500 }), fakeNote());
    await store.invite({ accountId: 'acc_1', tokenHash: 'token', expiresAt: 80_000 }, fakeNote());
    const ttlOf = async (kind: Parameters<typeof pointerKey>[0], to: string) =>
      (await dynamo.get<{ ttl: number }>(pointerKey(kind, to)))?.ttl;
    expect(await ttlOf('session', 'ses_1')).toBe(91);
    expect(await ttlOf('session-token', 'hash of ses_1')).toBe(91);
    expect(await ttlOf('invitation', 'token')).toBe(80);
    await dispose();
  });

  test('what leads to a key or a session that has another secret by now opens nothing', async () => {
    const { store, dynamo, dispose } = await openHere();
    await store.insertAccount(fakeAccount('acc_1'), fakeNote());
    await store.insertKey(fakeKey('key_1', 'acc_1'), fakeNote());
    await store.insertSession(fakeSession('ses_1'), fakeNote());
    // As a request finds it that read the pointer just before the secret was changed.
    for (const [kind, to] of [
      ['key-hash', 'hash of key_1'],
      ['session-token', 'hash of ses_1'],
    ] as const) {
      const pointer = (await dynamo.get<Item>(pointerKey(kind, to)))!;
      await dynamo.write({ put: { ...pointer, ...pointerKey(kind, 'earlier') } });
    }
    expect(await store.findByKeyHash('hash of key_1')).toBeDefined();
    expect(await store.findByKeyHash('earlier')).toBeUndefined();
    expect(await store.findSession('earlier')).toBeUndefined();
    await dispose();
  });

  test('a key that is forgotten leaves nothing behind by which it could be found', async () => {
    const { store, dynamo, dispose } = await openHere();
    const firstKey = fakeKey('lost', 'acc_1', { origin: 'unseen' });
    await store.setUp(fakeAccount('acc_1', { role: 'admin' }), firstKey, fakeNote());
    const next = fakeKey('next', 'acc_1', { origin: 'unseen' });
    expect(await store.setUp(fakeAccount('acc_2'), next, fakeNote(), 'lost')).toMatchObject({ keyed: true });
    expect(await dynamo.get(pointerKey('key', 'lost'))).toBeUndefined();
    expect(await dynamo.get(pointerKey('key-hash', 'hash of lost'))).toBeUndefined();
    expect(await store.listKeys('acc_1')).toEqual([next]);
    await dispose();
  });
});
