import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { openRedis } from '../engines/redis/open.ts';
import { destinationOf } from '../health/health.ts';
import { openSqliteHealthStore } from '../health/stores/sqlite/store.ts';
import { sampleLink } from '../links/store-samples.ts';
import { createLog } from '../ops/log.ts';
import { loadConfig } from './config.ts';
import { type LinkHealth, startLinkHealth } from './link-health.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-link-health-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const log = createLog({ level: 'silent', clock: systemClock, write: () => {} });

/** In a process that shows links and asks nobody. */
function started(...argv: string[]): Promise<LinkHealth> {
  const config = loadConfig({ argv: ['--data', folder, ...argv], env: {}, readFile: () => '{}' });
  const redis = config.cache === 'none' ? undefined : openRedis(config.cache, { clock: systemClock });
  const world = { clock: systemClock, random: systemRandom, log };
  return startLinkHealth({ config, version: '1', isOurs: false, redis, ...world });
}

test('unless it is switched on there is nothing: no file, no answer, no number', async () => {
  const { healthOf, metrics, stop } = await started();
  expect(healthOf).toBeUndefined();
  expect(metrics()).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
  await stop();
});

test('links in memory cannot be gone over, and that is said at the start', () => {
  expect(() =>
    loadConfig({ argv: ['--links=memory', '--link-health=on'], env: {}, readFile: () => '{}' }),
  ).toThrow('--link-health=on is not allowed with links in memory');
});

test('what is known of a destination is told as long as the link leads there', async () => {
  const store = openSqliteHealthStore(join(folder, 'health.db'));
  const [same, edited] = [sampleLink('same'), sampleLink('edited')];
  const result = { checkedAt: 1, failingSince: null, httpStatus: 200, reason: null };
  const record = ({ code, longUrl }: typeof same) => ({
    code,
    destination: destinationOf(longUrl),
    ...result,
  });
  await store.save([record(same), record(edited)], Date.now(), 60_000);
  await store.close();
  const { healthOf, stop } = await started('--link-health', 'on');
  const moved = { ...edited, longUrl: 'https://example.com/elsewhere' };
  expect(await healthOf?.([moved, same, sampleLink('new')])).toEqual([undefined, record(same), undefined]);
  await stop();
});

test('while Redis is away links are shown without it', async () => {
  const { healthOf, stop } = await started('--link-health', 'on', '--cache', 'redis://127.0.0.1:1');
  expect(await healthOf?.([sampleLink('one'), sampleLink('two')])).toEqual([undefined, undefined]);
  await stop();
});
