import { describe, expect } from 'bun:test';
import { atTheBeginning, wholeTrail } from '../../test/kit/audit-trail.ts';
import { onEveryRecordEngine, ruleTestOn } from '../../test/kit/record-engines.ts';
import { createAuditLog } from '../audit/audit-log.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { put, type RecordStore } from '../records/record-store.ts';
import { keyListKind, sessionListKind } from './account-records.ts';
import { fakeAccount, fakeKey, fakeNote } from './fake-actors.ts';
import { accountStoreConformance } from './store.conformance.ts';
import { createAccountStore } from './store.ts';

const storeOn = (records: RecordStore) => {
  const audit = createAuditLog({ records, random: systemRandom });
  return createAccountStore({ records, audit, clock: systemClock, random: systemRandom });
};

onEveryRecordEngine('accounts', (engine, open) =>
  accountStoreConformance(engine, async () => {
    const { store, reopen, dispose } = await open(atTheBeginning);
    return {
      store: storeOn(store),
      reopen: async () => storeOn(await reopen()),
      trail: () => wholeTrail(store),
      dispose,
    };
  }),
);

onEveryRecordEngine('lists of accounts', (engine, open) =>
  describe(`lists of accounts: ${engine}`, () => {
    const ruleTest = ruleTestOn(engine);
    const accountIds = Array.from({ length: 12 }, (_, n) => `acc_${n}`);
    const keysOf = (accountId: string) => Array.from({ length: 250 }, (_, n) => `${accountId} ${n}`);

    ruleTest('a key is found while the keys and sessions of many accounts are listed', async () => {
      const { store: records, dispose } = await open(atTheBeginning);
      const store = storeOn(records);
      const note = fakeNote();
      await store.insertAccount(fakeAccount('acc'), note);
      await store.insertKey(fakeKey('key', 'acc'), note);
      for (const accountId of accountIds) {
        const list = { accountId, keys: keysOf(accountId) };
        await records.transact([put(keyListKind, list), put(sessionListKind, list)]);
      }
      for (const list of [store.listKeys, store.listSessions]) {
        const lists = accountIds.map(async accountId => list(accountId));
        const done = Promise.allSettled(lists);
        let isOver = false;
        done.then(() => {
          isOver = true;
        });
        do expect((await store.findByKeyHash('hash of key'))?.key.id).toBe('key');
        while (!isOver);
        expect((await done).map(({ status }) => status)).toEqual(accountIds.map(() => 'fulfilled'));
      }
      await dispose();
    });
  }),
);
