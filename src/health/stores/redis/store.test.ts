import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { sharedRedis } from '../../../../test/kit/engines/redis.ts';
import { systemClock } from '../../../base/clock.ts';
import { openRedis } from '../../../engines/redis/open.ts';
import { healthStoreConformance } from '../../store.conformance.ts';
import { createRedisHealthStore } from './store.ts';

let installations = 0;

describeWithEngine('redis', 'results of checks in Redis', () => {
  healthStoreConformance('Redis', async () => {
    const redis = openRedis((await sharedRedis()).url, { clock: systemClock });
    while (!redis.isAvailable) await Bun.sleep(5);
    installations += 1;
    const name = `health-test-${process.pid}-${installations}`;
    const reopen = async () => createRedisHealthStore(redis, { name, deadlineMs: 10_000 });
    return {
      store: await reopen(),
      reopen,
      pass: durationMs => Bun.sleep(durationMs),
      dispose: () => redis.close(),
    };
  });
});
