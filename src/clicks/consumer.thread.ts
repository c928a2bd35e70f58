/**
 * The entry point of the thread that counts the clicks that all processes have written to Kafka, together with the same
 * threads of other processes and machines. It also maintains the warehouse.
 */

import { Backoff } from '../base/backoff.ts';
import { answerCalls, giveWay } from '../base/thread-call.ts';
import type { ClickThreadMessage } from './click.thread.ts';
import { ClickConsumer, type ConsumerCounts } from './consumer.ts';
import { readForgotten } from './log-folder.ts';
import { createKafkaCountingGroup } from './logs/kafka-group.ts';
import { type ClickEngines, systemEngines } from './open-click-path.ts';
import { openClickKafka } from './open-kafka.ts';
import { countsInSqlite, openClickHouseWarehouse } from './open-warehouse.ts';
import type { ClickSettings } from './settings.ts';
import { maintainWarehouse } from './warehouse.ts';

declare const self: Worker;

/** While partitions are being assigned, or none is assigned to us. */
const idlePauseMs = 250;
const retentionMs = 60_000;
/** How often a warehouse merges its runs. */
const upkeepMs = 2_000;
/** Messages logged one by one; a topic full of them should not fill the log as well. */
const poisonLoggedMax = 100;

export async function startConsumerThread(
  settings: ClickSettings,
  tell: (message: ClickThreadMessage) => void,
  engines: ClickEngines = systemEngines,
) {
  const { clock } = engines;
  const { openReader, openGroup } = await engines.kafka();
  const complain = (what: string, error: unknown): void =>
    tell({ kind: 'problem', what, detail: error instanceof Error ? error.message : String(error) });

  let poisoned = 0;
  const { address, topic, reader, log } = openClickKafka(settings, {
    clock,
    openReader,
    onPoison(partition, position) {
      poisoned += 1;
      if (poisoned > poisonLoggedMax) return;
      complain('a message in the click stream is no click and is passed over', `${partition} at ${position}`);
    },
  });
  const group = openGroup(address, { clock });
  const warehouse = engines.openWarehouse(settings);
  const consumer = new ClickConsumer({
    group: createKafkaCountingGroup({ group, reader, topic, since: address.since }),
    log,
    warehouse,
    // ClickHouse itself keeps which clicks were deleted, and whether consumers should pause.
    ...(countsInSqlite(settings)
      ? { forgotten: async () => readForgotten(settings.logFolder) }
      : { isHeld: holdOf(settings) }),
    clock,
    onProblem: complain,
  });

  const pauses = new Backoff(clock);
  const periodMs = countsInSqlite(settings) ? upkeepMs : retentionMs;
  let upkeepAtMs = clock.monotonicMs() + periodMs;
  let endDaysAtMs = clock.monotonicMs() + retentionMs;
  const upkeep = async (): Promise<void> => {
    if (clock.monotonicMs() < upkeepAtMs) return;
    upkeepAtMs = clock.monotonicMs() + periodMs;
    try {
      const endsDays = clock.monotonicMs() >= endDaysAtMs;
      const isLeft = await maintainWarehouse({
        ...settings,
        endsDays,
        clock,
        maintain: plan => warehouse.get().maintain(plan),
      });
      if (isLeft && countsInSqlite(settings)) upkeepAtMs = 0;
      else if (endsDays) endDaysAtMs = clock.monotonicMs() + retentionMs;
    } catch (error) {
      complain('the click warehouse cannot be maintained', error);
    }
  };
  const run = async (): Promise<void> => {
    while (!pauses.isOver) {
      const outcome = await consumer.round();
      await upkeep();
      if (outcome === 'failed') await pauses.afterFailure();
      else pauses.reset();
      if (outcome === 'idle') await pauses.for(idlePauseMs);
    }
  };
  const running = run();

  return {
    counts: (): ConsumerCounts & { poisoned: number; heapBytes: number } => ({
      ...consumer.counts,
      poisoned,
      heapBytes: process.memoryUsage().heapUsed,
    }),
    async stop(): Promise<void> {
      pauses.end();
      await running;
      await consumer.close();
      await log.close();
    },
  };
}

function holdOf(settings: ClickSettings): () => Promise<boolean> {
  const { hold } = openClickHouseWarehouse(settings);
  return () => hold.isSet();
}

export type ConsumerThreadFunctions = Awaited<ReturnType<typeof startConsumerThread>>;

if (!Bun.isMainThread) {
  giveWay();
  answerCalls(self, (settings: ClickSettings) =>
    startConsumerThread(settings, message => self.postMessage(message)),
  );
}
