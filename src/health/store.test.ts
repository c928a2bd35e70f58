import { expect, test } from 'bun:test';
import { onEveryRecordEngine, openMemoryRecords } from '../../test/kit/record-engines.ts';
import { ManualClock, systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { createHealthStore } from './health.ts';
import { healthStoreConformance } from './store.conformance.ts';

// The results have an earlier time, and are kept for a minute.
const then = { now: () => Date.UTC(2026, 5, 1) };

onEveryRecordEngine('results of checks', (engine, open) =>
  healthStoreConformance(engine, async () => {
    const { store, reopen, dispose } = await open(then);
    const on = (records: typeof store) => createHealthStore(records, systemClock, systemRandom);
    return { store: on(store), reopen: async () => on(await reopen()), dispose };
  }),
);

test('results that are no longer refreshed expire', async () => {
  const clock = new ManualClock();
  const { store: records } = await openMemoryRecords(clock);
  const store = createHealthStore(records, systemClock, systemRandom);
  const record = { destination: 'd', checkedAt: 0, failingSince: null, httpStatus: 200, reason: null };
  await store.save([{ ...record, code: 'old' }], clock.now(), 1_000);
  clock.advance(1_001);
  await store.save([{ ...record, code: 'new' }], clock.now(), 1_000);
  expect((await store.find(['old', 'new'])).map(each => each?.code)).toEqual([undefined, 'new']);
});
