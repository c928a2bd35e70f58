/**
 * What happens to calls when a broker is killed, hangs, or is one of three: they end by their deadlines, then recover.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import {
  type KafkaClusterEngine,
  type KafkaEngine,
  startKafka,
  startKafkaCluster,
} from '../../../test/kit/engines/kafka.ts';
import { expectSafe } from '../../../test/kit/expect-safe.ts';
import { scaled } from '../../../test/kit/scale.ts';
import { systemClock as clock } from '../../base/clock.ts';
import { type KafkaAddress, parseKafkaAddress } from './address.ts';
import { KafkaUnavailable } from './failures.ts';
import { openKafkaGroup } from './group.ts';
import { openKafkaProducer } from './producer.ts';
import { openKafkaReader } from './reader.ts';
import { allOffsets, ensureTopic } from './topics.ts';

const deadlineMs = 2_000;
/** Generous on purpose: it only ends a run that hangs. */
const backMaxMs = 60_000;
const options = { bytesMax: 1024 * 1024, waitMaxMs: 100 };

const closing: { close(): Promise<void> }[] = [];
const closed = <Opened extends { close(): Promise<void> }>(opened: Opened): Opened => {
  closing.push(opened);
  return opened;
};
afterEach(async () => {
  for (const opened of closing.splice(0)) await opened.close();
});

async function until<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (const untilMs = clock.monotonicMs() + backMaxMs; ; await Bun.sleep(100)) {
    try {
      return await attempt();
    } catch (error) {
      if (clock.monotonicMs() > untilMs) throw error;
    }
  }
}

/** What was written, with how often. */
async function readAll(address: KafkaAddress): Promise<Map<string, number>> {
  const reader = closed(openKafkaReader(address, { clock }));
  const texts = new Map<string, number>();
  for (let from = 0; ; ) {
    const [fetched] = await until(() => reader.fetch(address.topic, new Map([[0, from]]), options));
    for (const { value } of fetched?.messages ?? []) {
      texts.set(value.toString(), (texts.get(value.toString()) ?? 0) + 1);
    }
    if (fetched !== undefined && fetched.next === fetched.end) return texts;
    from = fetched?.next ?? from;
  }
}

describeWithEngine(
  'kafka',
  'a Kafka that goes down',
  () => {
    let engine: KafkaEngine;
    beforeAll(async () => {
      engine = await startKafka();
    });
    afterAll(() => engine?.stop());

    const faults = {
      'is killed and started again': [() => engine.kill(), () => engine.restart()],
      'hangs and goes on': [async () => engine.pause(), async () => engine.resume()],
    } as const;

    for (const [name, [strike, heal]] of Object.entries(faults)) {
      test(`${name}: calls end by their deadlines, later ones go through, and nothing acknowledged is lost`, async () => {
        const address = parseKafkaAddress(engine.freshTopicUrl({ partitions: 1 }));
        const { topic } = address;
        await ensureTopic(address, { topic, partitions: 1 }, clock);
        const producer = closed(openKafkaProducer(address, { clock }));
        const reader = closed(openKafkaReader(address, { clock }));
        const group = closed(openKafkaGroup(address, { clock, sessionMaxMs: 3_000 }));
        const send = (text: string) =>
          producer.send([{ topic, partition: 0, value: Buffer.from(text) }], deadlineMs);
        const plan = { offset: 1, metadata: 'to=9' };
        await send('before');
        const term = await until(() => group.term());
        await term.commit(new Map([[0, plan]]));

        await strike();
        const struck = [send('during'), term.commit(new Map([[0, { ...plan, offset: 2 }]]))];
        for (const outcome of await Promise.allSettled(struck)) {
          expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(KafkaUnavailable) });
        }
        await expect(reader.fetch(topic, new Map([[0, 0]]), options)).rejects.toThrow(KafkaUnavailable);
        await heal();

        await until(() => send('after'));
        const next = await until(() => group.term());
        expect(next.generation).not.toBe(term.generation);
        const committed = await until(() => next.committed());
        // The one whose outcome was unknown may have been committed.
        expect([1, 2]).toContain(committed.get(0)!.offset);
        await until(() => next.commit(new Map([[0, { offset: 3, metadata: '' }]])));
        const texts = await readAll(address);
        expectSafe(texts.get('before')).toBe(1);
        expectSafe(texts.get('after')).toBeGreaterThanOrEqual(1);
      });
    }
  },
  { own: true },
);

describeWithEngine(
  'kafka',
  'three Kafka brokers of which one goes down',
  () => {
    let cluster: KafkaClusterEngine;
    beforeAll(async () => {
      cluster = await startKafkaCluster();
    });
    afterAll(() => cluster?.stop());

    test('they are killed in turn while messages are written: what was acknowledged is there, in its order', async () => {
      const address = parseKafkaAddress(cluster.freshTopicUrl({ partitions: 1 }));
      const { topic } = address;
      await ensureTopic(address, { topic, partitions: 1 }, clock);
      await cluster.untilHealthy(topic);
      const producer = closed(openKafkaProducer(address, { clock }));
      const acknowledged: string[] = [];
      let isOver = false;
      const writing = (async () => {
        for (let number = 0; !isOver; number += 1) {
          const text = String(number);
          // Again until it is acknowledged, as clicks are.
          await until(() => producer.send([{ topic, partition: 0, value: Buffer.from(text) }], deadlineMs));
          acknowledged.push(text);
        }
      })();
      for (const broker of cluster.brokers.slice(0, scaled(1, 3))) {
        const before = acknowledged.length;
        await broker.kill();
        await until(async () => {
          if (acknowledged.length < before + 20) throw new Error('nothing is acknowledged any more');
        });
        await broker.restart();
        await cluster.untilHealthy(topic);
      }
      isOver = true;
      await writing;
      const written = [...(await readAll(address)).keys()];
      expectSafe(written).toEqual(acknowledged);
    });

    test('a partition whose only broker is down fails reads of all partitions, until it is up again', async () => {
      const partitions = 3;
      const given = parseKafkaAddress(cluster.freshTopicUrl({ partitions }));
      const address = { ...given, replication: 1, minInsync: 1 };
      const { topic } = address;
      await ensureTopic(address, { topic, partitions }, clock);
      const reader = closed(openKafkaReader(address, { clock }));
      const ends = () => allOffsets(reader, topic, 'latest');
      expect((await until(ends)).size).toBe(partitions);
      const [broker] = cluster.brokers;
      await broker!.kill();
      expect((await reader.offsets(topic, 'latest')).size).toBe(partitions - 1);
      await expect(ends()).rejects.toThrow();
      await broker!.restart();
      expect((await until(ends)).size).toBe(partitions);
    });
  },
  { own: true },
);
