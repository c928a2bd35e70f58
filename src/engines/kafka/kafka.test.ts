/** The engine against a real broker: writing, reading from any place, and plans that only the owner can make. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../../../test/kit/engines/kafka.ts';
import { termOf } from '../../../test/kit/kafka-term.ts';
import { systemClock as clock } from '../../base/clock.ts';
import { type KafkaAddress, parseKafkaAddress } from './address.ts';
import { KafkaFenced, KafkaRefusal, KafkaUnavailable } from './failures.ts';
import { type GroupTerm, type KafkaGroup, openKafkaGroup } from './group.ts';
import { type KafkaProducer, openKafkaProducer } from './producer.ts';
import { type KafkaReader, openKafkaReader } from './reader.ts';
import { ensureTopic } from './topics.ts';

const partitions = 3;
const options = { bytesMax: 1024 * 1024, waitMaxMs: 100 };
/** Long, because a busy machine may delay the heartbeats of a member that is alive. */
const sessionMaxMs = 30_000;
/** Shorter where members wait for one another: each learns of a change with its next heartbeat, five per session. */
const sharedSessionMaxMs = 10_000;

describeWithEngine('kafka', 'Kafka', () => {
  let address: KafkaAddress;
  let topic: string;
  let producer: KafkaProducer;
  let reader: KafkaReader;
  const groups: KafkaGroup[] = [];

  beforeEach(async () => {
    address = parseKafkaAddress((await sharedKafka()).freshTopicUrl({ partitions }));
    topic = address.topic;
    await ensureTopic(address, { topic, partitions, configs: { 'max.message.bytes': '100000' } }, clock);
    producer = openKafkaProducer(address, { clock });
    reader = openKafkaReader(address, { clock });
  });
  afterEach(async () => {
    await Promise.all([producer, reader, ...groups.splice(0)].map(each => each.close()));
  });

  const message = (partition: number, text: string) => ({ topic, partition, value: Buffer.from(text) });
  const openGroup = (options = { sessionMaxMs }) => {
    const group = openKafkaGroup(address, { clock, ...options });
    groups.push(group);
    return group;
  };
  const openMember = () => openGroup({ sessionMaxMs: sharedSessionMaxMs });

  test('a topic that is there stays as it is, however often it is asked for', async () => {
    await ensureTopic(address, { topic, partitions: 7 }, clock);
    expect(await reader.partitions(topic)).toBe(partitions);
  });

  test('what was written is read back from any place, in its order', async () => {
    const places = await producer.send([message(0, 'a'), message(2, 'b'), message(2, 'c')]);
    expect(places).toEqual([
      { partition: 0, offset: 0 },
      { partition: 2, offset: 0 },
      { partition: 2, offset: 1 },
    ]);
    await producer.send([message(2, 'd')]);
    const read = async (from: [number, number][]) =>
      (await reader.fetch(topic, new Map(from), options))
        .sort((one, other) => one.partition - other.partition)
        .map(({ partition, messages, next, end }) => [
          partition,
          messages.map(({ value }) => value.toString()).join(''),
          next,
          end,
        ]);
    expect(
      await read([
        [0, 0],
        [2, 0],
      ]),
    ).toEqual([
      [0, 'a', 1, 1],
      [2, 'bcd', 3, 3],
    ]);
    expect(await read([[2, 1]])).toEqual([[2, 'cd', 3, 3]]);
    expect(await read([[2, 3]])).toEqual([[2, '', 3, 3]]);
  });

  test('a partition beyond those that the topic has is one of them', async () => {
    expect(await producer.send([message(partitions + 1, 'x')])).toEqual([{ partition: 1, offset: 0 }]);
  });

  test('a time is turned into the first offset from then on', async () => {
    await producer.send([message(0, 'a')]);
    await Bun.sleep(50);
    const between = clock.now();
    await producer.send([message(0, 'b')]);
    expect((await reader.offsets(topic, { time: between })).get(0)).toBe(1);
    expect((await reader.offsets(topic, { time: between + 60_000 })).get(0)).toBe(2);
    expect(Object.fromEntries(await reader.offsets(topic, 'earliest'))).toEqual({ 0: 0, 1: 0, 2: 0 });
    expect(Object.fromEntries(await reader.offsets(topic, 'latest'))).toEqual({ 0: 2, 1: 0, 2: 0 });
  });

  test('an offset that was never reached is refused and not waited for', async () => {
    await producer.send([message(0, 'a')]);
    await expect(reader.fetch(topic, new Map([[0, 5]]), options)).rejects.toThrow(KafkaRefusal);
  });

  test('a message that brokers do not take is refused by its reason, and the next one goes through', async () => {
    const refused = await producer.send([message(0, 'x'.repeat(200_000))]).catch(error => error);
    expect(refused).toBeInstanceOf(KafkaRefusal);
    expect(refused.code).toBe('MESSAGE_TOO_LARGE');
    expect(await producer.send([message(0, 'small')])).toEqual([{ partition: 0, offset: 0 }]);
  });

  test('a broker that does not exist is unavailable, and that is known by the deadline', async () => {
    const nowhere = openKafkaProducer({ ...address, servers: ['127.0.0.1:1'] }, { clock });
    await expect(nowhere.send([message(0, 'x')], 1_000)).rejects.toThrow(KafkaUnavailable);
    await nowhere.close();
  });

  test('a plan is read back by the next owner of the partition, also when it is the same member again', async () => {
    const group = openGroup();
    const term = await termOf(group);
    expect([...term.partitions].sort()).toEqual([0, 1, 2]);
    expect(await term.committed()).toEqual(new Map());
    await term.commit(new Map([[1, { offset: 0, metadata: 'to=7' }]]));
    await term.commit(new Map([[1, { offset: 7, metadata: 'to=9' }]]));
    await group.close();
    const next = await termOf(openGroup());
    expect(await next.committed()).toEqual(new Map([[1, { offset: 7, metadata: 'to=9' }]]));
  });

  test('partitions are shared among members, each belongs to one member, and a member that left has none', async () => {
    const [here, there] = [openMember(), openMember()];
    await termOf(here);
    const isShared = (term: GroupTerm) => term.partitions.length > 0 && term.partitions.length < partitions;
    const [mine, yours] = await Promise.all([termOf(here, isShared), termOf(there, isShared)]);
    expect([...mine.partitions, ...yours.partitions].sort()).toEqual([0, 1, 2]);
    await there.close();
    expect((await termOf(here, term => term.partitions.length === partitions)).isCurrent).toBe(true);
  });

  test('an owner that has been replaced can plan nothing any more', async () => {
    const here = openMember();
    const old = await termOf(here);
    const there = openMember();
    await termOf(there, term => term.partitions.length > 0);
    // As one that was stopped for a while: it does not know that it was replaced until the brokers say so.
    Object.assign(old, { isCurrent: true });
    const plan = old.commit(new Map([[0, { offset: 5, metadata: 'to=6' }]]));
    await expect(plan).rejects.toThrow(KafkaFenced);
    const isNext = (term: GroupTerm) => term.generation > old.generation;
    const plans = await Promise.all([
      termOf(here, isNext).then(term => term.committed()),
      termOf(there).then(term => term.committed()),
    ]);
    expect(plans.map(each => each.size)).toEqual([0, 0]);
  });
});
