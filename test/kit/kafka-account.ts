/** Terse's account of clicks through Kafka, and the clicks in Kafka itself. */
import { clickCount } from '../../src/clicks/click.ts';
import { readBatches } from '../../src/clicks/log.ts';
import { openClickKafka } from '../../src/clicks/open-kafka.ts';
import { type Reconciled, reconcileAt } from './click-account.ts';
import { until } from './until.ts';

/** Clicks that Kafka has acknowledged, each number of each producer once, however often it was written. */
export async function clicksInKafka(streamUrl: string): Promise<number> {
  const { log } = openClickKafka({ stream: streamUrl });
  const newest = new Map<string, number>();
  let clicks = 0;
  try {
    for (const { name } of await log.partitions()) {
      for (let position = 0; ; ) {
        const batches = await readBatches(log, name, position, 4 * 1024 * 1024);
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
    await log.close();
  }
}

const settleMaxMs = 100_000;
const settlePollMs = 300;

/** Waits until as many clicks are counted, and returns the account of it. */
export async function countedAt(url: string, clicks: number): Promise<Reconciled> {
  let account: Reconciled | undefined;
  const isCounted = async (): Promise<boolean> => {
    account = await reconcileAt(url).catch(() => undefined);
    return account !== undefined && account.totals.recorded >= clicks;
  };
  await until(`${clicks} clicks`, isCounted, { maxMs: settleMaxMs, everyMs: settlePollMs });
  return account!;
}
