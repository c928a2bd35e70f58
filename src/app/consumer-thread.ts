/**
 * The entry point of the thread that counts what all processes have written to Kafka, together with the same threads of
 * other processes and machines. It also ends minutes that are too old.
 */
import { systemClock } from '../base/clock.ts';
import { Pauses } from '../base/pauses.ts';
import { answerCall } from '../base/thread-call.ts';
import { ClickConsumer, type ConsumerCounts } from '../clicks/consumer.ts';
import { dropOldMinutes } from '../clicks/drop-minutes.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { readForgotten } from '../clicks/streams/embedded/forgotten.ts';
import { createKafkaCountingGroup } from '../clicks/streams/kafka/group.ts';
import { openKafkaGroup } from '../engines/kafka/group.ts';
import { giveWay } from './background-thread.ts';
import type { ClickThreadMessage } from './click-thread.ts';
import { openClickKafka } from './kafka-clicks.ts';
import { countsInSqlite, openClickHouseWarehouse, openWarehouseAccess } from './warehouse-access.ts';

declare const self: Worker;

giveWay();

/** While partitions are being given out, or there are none for us. */
const idlePauseMs = 250;
const retentionMs = 60_000;
/** Told one by one for a while; a topic full of them should not fill the log as well. */
const poisonToldMax = 100;

function start(settings: ClickSettings) {
  const clock = systemClock;
  const tell = (message: ClickThreadMessage): void => self.postMessage(message);
  const complain = (what: string, error: unknown): void =>
    tell({ kind: 'problem', what, detail: error instanceof Error ? error.message : String(error) });

  let poisoned = 0;
  const { address, topic, reader, source } = openClickKafka(settings, (partition, position) => {
    poisoned += 1;
    if (poisoned > poisonToldMax) return;
    complain('a message in the click stream is no click and is passed over', `${partition} at ${position}`);
  });
  const group = openKafkaGroup(address, { clock });
  const warehouse = openWarehouseAccess(settings);
  const consumer = new ClickConsumer({
    group: createKafkaCountingGroup({ group, reader, topic, since: address.since }),
    source,
    warehouse,
    // ClickHouse keeps beside the counts what was deleted of them, for whoever counts, and who asks them to wait.
    ...(countsInSqlite(settings)
      ? { forgotten: async () => readForgotten(settings.logFolder) }
      : { isHeld: holdOf(settings) }),
    clock,
    onProblem: complain,
  });

  const pauses = new Pauses(clock);
  let dropAgainAtMs = clock.monotonicMs() + retentionMs;
  const dropSome = async (): Promise<void> => {
    if (clock.monotonicMs() < dropAgainAtMs) return;
    dropAgainAtMs = clock.monotonicMs() + retentionMs;
    await dropOldMinutes({
      minuteDays: settings.minuteDays,
      clock,
      dropMinutes: (before, rowsMax) => warehouse.get().dropMinutes(before, rowsMax),
    }).catch(error => complain('old minutes cannot be removed', error));
  };
  const run = async (): Promise<void> => {
    while (!pauses.isOver) {
      const outcome = await consumer.round();
      await dropSome();
      if (outcome === 'failed') await pauses.afterFailure();
      else pauses.reset();
      if (outcome === 'idle') await pauses.for(idlePauseMs);
    }
  };
  const running = run();

  return {
    counts: (): ConsumerCounts & { poisoned: number } => ({ ...consumer.counts, poisoned }),
    async stop(): Promise<void> {
      pauses.end();
      await running;
      await consumer.close();
      await source.close();
    },
  };
}

function holdOf(settings: ClickSettings): () => Promise<boolean> {
  const { hold } = openClickHouseWarehouse(settings);
  return () => hold.isSet();
}

export type ConsumerThreadFunctions = ReturnType<typeof start>;

self.onmessage = ({ data: settings }: MessageEvent<ClickSettings>) => {
  const functions = start(settings);
  self.onmessage = ({ data }: MessageEvent<unknown>) => {
    answerCall(data, functions, self);
  };
};
