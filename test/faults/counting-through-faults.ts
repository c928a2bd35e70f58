/**
 * Clicks flow into Kafka without a pause while the counting processes are killed again and again, among other faults.
 * In the end every click that Kafka acknowledged is counted, once, in total and for each link.
 */
import { systemClock as clock } from '../../src/base/clock.ts';
import { parseKafkaAddress } from '../../src/engines/kafka/address.ts';
import { ensureTopic } from '../../src/engines/kafka/topics.ts';
import { announcedRandom } from '../kit/announced-random.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { KafkaVisitors } from '../kit/kafka-visitors.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

export interface CountingWorld {
  readonly streamUrl: string;
  /** Settings of the counting processes, beside their stream and role. */
  readonly env?: Readonly<Record<string, string>>;
  /** The data folder of each process; a common one if they are on one machine. */
  readonly dataFolders: readonly string[];
  countedInAll(): Promise<number>;
  countedOf(code: string): Promise<number>;
  readonly killCount: number;
  /** Further faults, one with each of the first kills. */
  readonly strikes: readonly (() => Promise<void>)[];
}

export const partitions = 6;
const clicksMin = scaled(20_000, 5_000_000);
const visits = { batchClicks: scaled(200, 8_192), pauseMs: scaled(20, 0) };
const countedMaxMs = scaled(120_000, 1_800_000);
/** Time in which a count that exceeds the number of clicks would show. */
const afterwardsMs = 2_000;
const untilKillMaxMs = 1_500;

/** Returns how many clicks were acknowledged. */
export async function countThroughFaults(world: CountingWorld): Promise<number> {
  const { streamUrl, env, dataFolders, countedInAll, countedOf, killCount, strikes } = world;
  const random = announcedRandom('kills of those who count');
  const address = parseKafkaAddress(streamUrl);
  await ensureTopic(address, { topic: address.topic, partitions }, clock);
  const visitors = new KafkaVisitors(address, visits);
  const start = (dataFolder: string) =>
    startTerseProcess({
      dataFolder,
      env: { ...env, TERSE_STREAM: streamUrl, TERSE_ROLES: 'worker', TERSE_LOG_LEVEL: 'silent' },
    });
  const workers: TerseProcess[] = [];
  const startedMs = performance.now();
  try {
    for (const dataFolder of dataFolders) workers.push(await start(dataFolder));
    visitors.start();
    for (let kill = 0; kill < killCount; kill += 1) {
      const before = await countedInAll();
      await until('clicks to be counted between kills', async () => (await countedInAll()) > before, {
        maxMs: countedMaxMs,
      });
      await Bun.sleep(random.float() * untilKillMaxMs);
      const index = kill % workers.length;
      const killed = workers[index]!.kill();
      await strikes[kill]?.();
      await killed;
      workers[index] = await start(dataFolders[index]!);
    }
    await until('enough clicks', () => visitors.total >= clicksMin, { maxMs: heavyTestMaxMs });
    await visitors.stop();
    await until('all clicks', async () => (await countedInAll()) >= visitors.total, { maxMs: countedMaxMs });
    await Bun.sleep(afterwardsMs);
    expectSafe(await countedInAll()).toBe(visitors.total);
    for (const code of visitors.codes)
      expectSafe([code, await countedOf(code)]).toEqual([code, visitors.acknowledged(code)]);
    const seconds = (performance.now() - startedMs) / 1_000;
    report(
      `${visitors.total} clicks acknowledged by Kafka and counted, each once, in ${seconds.toFixed(0)} s: ` +
        `${killCount} kills of ${workers.length} counters, ${strikes.length} other strikes, ${visitors.failures} appends repeated`,
    );
    return visitors.total;
  } finally {
    await visitors.stop();
    for (const worker of workers) await worker.kill();
  }
}
