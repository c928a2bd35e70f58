/** What Terse says about clicks that went through Kafka, beside what Kafka has of them. */
import { systemClock } from '../../src/base/clock.ts';
import { clickCount } from '../../src/clicks/batch.ts';
import { createKafkaSource } from '../../src/clicks/streams/kafka/source.ts';
import { parseKafkaAddress } from '../../src/engines/kafka/address.ts';
import { openKafkaReader } from '../../src/engines/kafka/reader.ts';
import { type Reconciled, reconcileAt } from './click-account.ts';

/** Clicks that Kafka has acknowledged, each number of each producer once, however often it was written. */
export async function clicksInKafka(streamUrl: string): Promise<number> {
  const address = parseKafkaAddress(streamUrl);
  const reader = openKafkaReader(address, { clock: systemClock });
  const source = createKafkaSource({ reader, topic: address.topic, onPoison: () => {} });
  const newest = new Map<string, number>();
  let clicks = 0;
  try {
    for (const { name } of await source.behind(new Map())) {
      for (let position = 0; ; ) {
        const batches = await source.read(name, position, 4 * 1024 * 1024);
        if (batches.length === 0) break;
        for (const { producer, batch } of batches) {
          const last = batch.firstSequence + clickCount(batch) - 1;
          const known = newest.get(producer) ?? 0;
          clicks += Math.max(0, Math.min(clickCount(batch), last - known));
          newest.set(producer, Math.max(known, last));
        }
        position = batches.at(-1)!.to;
      }
    }
    return clicks;
  } finally {
    await source.close();
  }
}

const settleMaxMs = 100_000;
const settlePollMs = 300;

/** Waits until as many clicks are counted, and returns the account of it. */
export async function countedAt(url: string, clicks: number): Promise<Reconciled> {
  for (const untilMs = performance.now() + settleMaxMs; ; await Bun.sleep(settlePollMs)) {
    const account = await reconcileAt(url).catch(() => undefined);
    if (account !== undefined && account.totals.recorded >= clicks) return account;
    if (performance.now() > untilMs) throw new Error(`${clicks} clicks, of which ${JSON.stringify(account)}`);
  }
}
