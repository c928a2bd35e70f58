import { expect, test } from 'bun:test';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { loadConfig } from '../config/config.ts';
import { sampleLink } from '../links/store-samples.ts';
import { createMemoryRecords } from '../records/drivers/memory.ts';
import type { RecordStore } from '../records/record-store.ts';
import { createLog } from '../telemetry/log.ts';
import { createHealthStore, destinationOf, type HealthStore } from './health.ts';
import { type LinkHealth, startLinkHealth } from './start.ts';

const log = createLog({ level: 'silent', clock: systemClock, write: () => {} });
const storeOn = (records: RecordStore): HealthStore => createHealthStore(records, systemClock, systemRandom);

/** In a process that shows links and checks none. */
function started(store: HealthStore, ...argv: string[]): LinkHealth {
  const config = loadConfig({ argv, env: {}, readFile: () => '{}' });
  return startLinkHealth({ config, version: '1', isOurs: false, store, random: systemRandom, log });
}

test('unless it is switched on there is nothing: no answer, no number', () => {
  const { healthOf, metrics } = started(storeOn(createMemoryRecords(systemClock)));
  expect(healthOf).toBeUndefined();
  expect(metrics()).toEqual([]);
});

test('links in memory cannot be checked, and the start logs that', () => {
  expect(() =>
    loadConfig({ argv: ['--links=memory', '--link-health=on'], env: {}, readFile: () => '{}' }),
  ).toThrow('--link-health=on is not allowed with links in memory');
});

test('the health of a destination is shown while the link leads there', async () => {
  const store = storeOn(createMemoryRecords(systemClock));
  const [same, edited] = [sampleLink('same'), sampleLink('edited')];
  const result = { checkedAt: 1, failingSince: null, httpStatus: 200, reason: null };
  const record = ({ code, longUrl }: typeof same) => ({
    code,
    destination: destinationOf(longUrl),
    ...result,
  });
  await store.save([record(same), record(edited)], Date.now(), 60_000);
  const { healthOf } = started(store, '--link-health', 'on');
  const moved = { ...edited, longUrl: 'https://example.com/elsewhere' };
  expect(await healthOf?.([moved, same, sampleLink('new')])).toEqual([undefined, record(same), undefined]);
});

test('while the store is down links are shown without it', async () => {
  const get = () => Promise.reject(new Error('the store is down'));
  const { healthOf } = started(storeOn({ ...createMemoryRecords(systemClock), get }), '--link-health', 'on');
  expect(await healthOf?.([sampleLink('one'), sampleLink('two')])).toEqual([undefined, undefined]);
});
