/** Clicks through a real Kafka: cut by partition, read from anywhere, and numbers that outlive what was announced of them. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../../../test/kit/engines/kafka.ts';
import { termOf } from '../../../test/kit/kafka-term.ts';
import { systemClock as clock } from '../../base/clock.ts';
import { seededRandom } from '../../base/random.ts';
import { type KafkaAddress, parseKafkaAddress } from '../../engines/kafka/address.ts';
import { openKafkaGroup } from '../../engines/kafka/group.ts';
import { openKafkaProducer } from '../../engines/kafka/producer.ts';
import { openKafkaReader } from '../../engines/kafka/reader.ts';
import { ensureTopic } from '../../engines/kafka/topics.ts';
import { randomClicks, sampleBatch, samplesStart } from '../batch-samples.ts';
import { clickCount } from '../click.ts';
import { exportPart } from '../export.ts';
import { clickLogConformance } from '../log.conformance.ts';
import { readBatches } from '../log.ts';
import { PartitionNumbers, partitionOf } from '../partition-numbers.ts';
import type { ExportCursor } from '../stats.ts';
import { createKafkaLog, createKafkaWriter, partitionName } from './kafka.ts';
import { createKafkaCountingGroup, metadataOf, planOf } from './kafka-group.ts';
import { aliveMs, announceHeads, HeadBook, headsTopicPlan } from './kafka-heads.ts';

const partitions = 3;
const hourMs = 60 * 60_000;

async function freshTopic(configs: Record<string, string> = {}): Promise<KafkaAddress> {
  const address = parseKafkaAddress((await sharedKafka()).freshTopicUrl({ partitions }));
  await ensureTopic(address, { topic: address.topic, partitions, configs }, clock);
  return address;
}

describeWithEngine('kafka', 'clicks in Kafka', () => {
  clickLogConformance('kafka', async () => {
    const address = await freshTopic();
    const { topic } = address;
    const numbers = new Map<string, PartitionNumbers>();
    return {
      open(producer) {
        const reader = openKafkaReader(address, { clock });
        const kafka = openKafkaProducer(address, { clock });
        const [writer, log] = [
          createKafkaWriter({ kafka, topic, producer }),
          createKafkaLog({ reader, topic, partitions, retentionMs: hourMs, clock }),
        ];
        const close = async () => void (await Promise.all([writer.close(), log.close()]));
        return { writer, log, close };
      },
      numbered(producer, batch) {
        const known = numbers.get(producer) ?? new PartitionNumbers(new Float64Array(partitions));
        numbers.set(producer, known);
        return known.number(batch);
      },
      dispose: async () => {},
    };
  });

  let address: KafkaAddress;
  let topic: string;
  const closing: { close(): Promise<void> }[] = [];
  const closed = <Opened extends { close(): Promise<void> }>(opened: Opened): Opened => {
    closing.push(opened);
    return opened;
  };
  const start = async (configs?: Record<string, string>) => {
    address = await freshTopic(configs);
    topic = address.topic;
  };
  beforeEach(() => start());
  afterEach(async () => {
    for (const opened of closing.splice(0)) await opened.close();
  });

  const poison: string[] = [];
  const openProducer = () => closed(openKafkaProducer(address, { clock }));
  const openReader = () => closed(openKafkaReader(address, { clock }));
  const openSource = () =>
    createKafkaLog({
      reader: openReader(),
      topic,
      partitions,
      retentionMs: hourMs,
      clock,
      onPoison: (partition, position) => poison.push(`${partition}@${position}`),
    });
  const numbered = (count: number) =>
    new PartitionNumbers(new Float64Array(partitions)).number(
      sampleBatch(1, randomClicks(seededRandom(1), count)),
    );
  const allClicks = async () => {
    const source = openSource();
    let clicks = 0;
    for (let partition = 0; partition < partitions; partition += 1) {
      const name = partitionName(topic, partition);
      for (const { batch } of await readBatches(source, name, 0, 8 * 1024 * 1024)) {
        expect(batch.links.every(({ code }) => partitionOf(code, partitions) === partition)).toBe(true);
        clicks += clickCount(batch);
      }
    }
    return clicks;
  };

  test('a click lies in the partition of its code', async () => {
    await createKafkaWriter({ kafka: openProducer(), topic, producer: 'one' }).append(numbered(500));
    expect(await allClicks()).toBe(500);
  });

  test('what is too large for one message becomes several, whose numbers go on', async () => {
    const sink = createKafkaWriter({ kafka: openProducer(), topic, producer: 'one', messageBytesMax: 2_000 });
    await sink.append(numbered(2_000));
    expect(await allClicks()).toBe(2_000);
    const batches = await readBatches(openSource(), partitionName(topic, 0), 0, 8 * 1024 * 1024);
    expect(batches.length).toBeGreaterThan(2);
    let next = 1;
    for (const { batch } of batches) {
      expect(batch.firstSequence).toBe(next);
      next += clickCount(batch);
    }
  });

  test('a fetch that decodes to too many clicks is read in pieces, and none is left out', async () => {
    const sink = createKafkaWriter({ kafka: openProducer(), topic, producer: 'one', messageBytesMax: 2_000 });
    await sink.append(numbered(2_000));
    const log = createKafkaLog({
      reader: openReader(),
      topic,
      partitions,
      retentionMs: hourMs,
      clock,
      clicksPerReadMax: 100,
    });
    const positions = new Map(
      Array.from({ length: partitions }, (_, partition) => [partitionName(topic, partition), 0]),
    );
    let clicks = 0;
    for (let reads = 0; clicks < 2_000; reads += 1) {
      const pieces = await log.read(positions, { bytesMax: 8 * 1024 * 1024, waitMaxMs: 1_000 });
      const counts = [...pieces.values()].flatMap(({ items }) => items.map(({ batch }) => clickCount(batch)));
      // The last one may begin just below the limit.
      expect(counts.slice(0, -1).reduce((sum, count) => sum + count, 0)).toBeLessThan(100);
      clicks += counts.reduce((sum, count) => sum + count, 0);
      for (const [name, { to }] of pieces) positions.set(name, to);
      expect(reads).toBeLessThan(200);
    }
    expect(clicks).toBe(2_000);
  });

  test('a topic that takes less than others do is written to after a few attempts', async () => {
    await start({ 'max.message.bytes': '40000' });
    const sink = createKafkaWriter({
      kafka: openProducer(),
      topic,
      producer: 'one',
      messageBytesMax: 150_000,
    });
    const batch = numbered(20_000);
    let attempts = 1;
    while ((await sink.append(batch).catch(() => 'refused')) === 'refused' && attempts < 5) attempts += 1;
    expect(attempts).toBeGreaterThan(1);
    expect(attempts).toBeLessThan(5);
  });

  test('a message that is no click is reported and skipped, wherever it lies', async () => {
    poison.length = 0;
    const kafka = openProducer();
    const sink = createKafkaWriter({ kafka, topic, producer: 'one' });
    const code = ['a', 'b', 'c', 'd', 'e'].find(each => partitionOf(each, partitions) === 0)!;
    const numbers = new PartitionNumbers(new Float64Array(partitions));
    const click = (sequence: number) => numbers.number(sampleBatch(sequence, [{ at: samplesStart, code }]));
    const spoil = () => kafka.send([{ topic, partition: 0, value: Buffer.from('no click') }]);
    await spoil();
    await sink.append(click(1));
    await spoil();
    await sink.append(click(2));
    await spoil();
    const name = partitionName(topic, 0);
    const source = openSource();
    const batches = await readBatches(source, name, 0, 1024 * 1024);
    expect(batches.map(({ from, to, batch }) => [from, to, clickCount(batch)])).toEqual([
      [0, 3, 1],
      [3, 5, 1],
    ]);
    expect(poison).toEqual([`${name}@0`, `${name}@2`, `${name}@4`]);
    // Nothing but poison is a stretch without clicks, behind which reading continues.
    const rest = await readBatches(source, name, 4, 1024 * 1024);
    expect(rest.map(({ from, to, batch }) => [from, to, clickCount(batch)])).toEqual([[4, 5, 0]]);
  });

  test('reading starts at a time', async () => {
    const source = openSource();
    const sink = createKafkaWriter({ kafka: openProducer(), topic, producer: 'one' });
    await sink.append(numbered(100));
    const ends = new Map((await source.partitions()).map(({ name, end }) => [name, end]));
    expect(await source.offsetsAt(clock.now() + hourMs)).toEqual(ends);
    expect([...(await source.offsetsAt(clock.now() - hourMs)).values()]).toEqual([0, 0, 0]);
  });

  test('a link is exported from a time on, in pieces, without what was deleted and what others were clicked', async () => {
    const code = 'wanted';
    const count = 5_000;
    const sink = createKafkaWriter({ kafka: openProducer(), topic, producer: 'one' });
    const numbers = new PartitionNumbers(new Float64Array(partitions));
    const start = clock.now() - hourMs;
    for (const first of [1, count + 1]) {
      const clicks = Array.from({ length: count }, (_, n) => ({
        at: start + first + n,
        code: n % 5 === 0 ? 'other' : code,
      }));
      await sink.append(numbers.number(sampleBatch(first, clicks)));
    }
    const filter = { code, ownerId: 'acc_1', from: start, to: start + 2 * count, format: 'ndjson' } as const;
    const log = openSource();
    const linesFrom = async (forgottenBefore: number) => {
      const pieces: string[] = [];
      let cursor: ExportCursor | undefined;
      do {
        const part = await exportPart(log, filter, cursor, forgottenBefore);
        pieces.push(part.text);
        cursor = part.next;
      } while (cursor !== undefined);
      return { pieces: pieces.length, lines: pieces.join('').split('\n').slice(0, -1) };
    };
    const { pieces, lines } = await linesFrom(0);
    expect(pieces).toBeGreaterThan(2);
    const times = lines.map(line => Date.parse(JSON.parse(line).at) - start);
    const expected = [1, count + 1].flatMap(first =>
      Array.from({ length: count }, (_, n) => n)
        .filter(n => n % 5 !== 0)
        .map(n => first + n),
    );
    // The last click is as late as the range ends, and not in it.
    expect(times).toEqual(expected.filter(time => time < 2 * count));
    expect((await linesFrom(start + count)).lines).toHaveLength(
      expected.filter(time => time >= count && time < 2 * count).length,
    );
  });

  test('a plan is what the next owner reads, and a group that begins later says from where', async () => {
    const kafka = openProducer();
    await createKafkaWriter({ kafka, topic, producer: 'one' }).append(numbered(50));
    const join = (since: KafkaAddress['since']) => {
      const group = closed(openKafkaGroup(address, { clock, sessionMaxMs: 30_000 }));
      return createKafkaCountingGroup({ group, reader: openReader(), topic, since });
    };
    const group = join({ offset: 1 });
    const term = await termOf(group);
    const first = partitionName(topic, 0);
    expect((await term.plans()).get(first)).toEqual({ from: 0, since: 1 });
    await term.commit(new Map([[first, { from: 0, to: 9, since: 1 }]]));
    await group.close();
    const later = await termOf(join({ time: clock.now() + hourMs }));
    const plans = await later.plans();
    expect(plans.get(first)).toEqual({ from: 0, to: 9, since: 1 });
    const second = partitionName(topic, 1);
    expect(plans.get(second)).toEqual({
      from: 0,
      since: (await openSource().partitions()).find(({ name }) => name === second)!.end,
    });
  });

  test('a plan is written and read without a loss, and what tools commit only says where to go on', () => {
    for (const plan of [
      { from: 5 },
      { from: 5, to: 9 },
      { from: 0, to: 9, since: 7 },
      { from: 0, since: 7 },
    ]) {
      expect(planOf({ offset: plan.from, metadata: metadataOf(plan) })).toEqual(plan);
    }
    for (const metadata of ['', 'reset by hand', 'to=x']) {
      expect(planOf({ offset: 5, metadata })).toEqual({ from: 5 });
    }
  });

  test('the newest number of every producer is known everywhere, and a late message takes nothing back', async () => {
    await ensureTopic(address, headsTopicPlan(topic, 24 * hourMs), clock);
    const kafka = openProducer();
    const book = new HeadBook(openReader(), topic, clock);
    expect(await book.heads()).toEqual([]);
    const head = (producer: string, sequence: number, alive = true) => ({
      producer,
      sequence,
      lastClickAt: samplesStart,
      storedUntil: samplesStart - 1,
      alive,
    });
    await announceHeads(kafka, topic, [head('one', 5), head('two', 7)]);
    await announceHeads(kafka, topic, [head('one', 9), head('two', 3)]);
    expect(await book.heads()).toEqual([head('one', 9), head('two', 7)]);
  });

  test('a silent producer is dead once everything is counted that was written after its last message', async () => {
    await ensureTopic(address, headsTopicPlan(topic, 24 * hourMs), clock);
    const kafka = openProducer();
    await announceHeads(kafka, topic, [
      { producer: 'one', sequence: 1, lastClickAt: samplesStart, storedUntil: 0, alive: true },
    ]);
    const book = new HeadBook(openReader(), topic, { ...clock, now: () => clock.now() + hourMs });
    const isAlive = async (countedUntil?: number) => (await book.heads(countedUntil))[0]?.alive;
    expect(await isAlive(clock.now())).toBe(true);
    expect(await isAlive(clock.now() + 2 * aliveMs)).toBe(false);
    expect(await isAlive()).toBe(false);
  });
});
