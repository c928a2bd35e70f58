import { describe, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../../../../test/kit/engines/kafka.ts';
import { systemClock as clock, sleep } from '../../../base/clock.ts';
import { seededRandom } from '../../../base/random.ts';
import { type KafkaAddress, parseKafkaAddress } from '../../../engines/kafka/address.ts';
import { isTransient } from '../../../engines/kafka/failures.ts';
import { openKafkaProducer } from '../../../engines/kafka/producer.ts';
import { openKafkaReader } from '../../../engines/kafka/reader.ts';
import { Drain } from '../../drain.ts';
import type { DeadLetter, LinkQueue } from '../../queue.ts';
import { encodeQueuedLink } from '../../queued-link.ts';
import { sampleLink } from '../../store-samples.ts';
import { createMemoryStore } from '../../stores/memory.ts';
import { createMemoryPendings } from '../fake-memory.ts';
import { deadTopicOf, letterBytesMax, letterPieces, linksTopicOf, openKafkaQueue } from './queue.ts';

const letterOf = (text: string, reason = 'the message is not JSON'): DeadLetter => ({
  text,
  place: 'links/0/7',
  reason,
});
const read = (message: Buffer): DeadLetter => JSON.parse(message.toString()) as DeadLetter;
const readAll = (letters: readonly DeadLetter[]): DeadLetter[] => [...letterPieces(letters)].flat().map(read);

describe('dead letters', () => {
  test('are kept unchanged, in order, when they fit', () => {
    const letters = [
      letterOf('nonsense'),
      letterOf('{"v":9}', 'the format 9 is not known'),
      letterOf('é✓\0'),
    ];
    expect(readAll(letters)).toEqual(letters);
  });

  test('that are too many for one write go in several, and none is missing', () => {
    const letters = Array.from({ length: 500 }, (_, n) => letterOf(`${n} ${'x'.repeat(2_000)}`));
    const pieces = [...letterPieces(letters)];
    for (const piece of pieces) {
      expect(piece.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(letterBytesMax);
    }
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.flat().map(read)).toEqual(letters);
  });

  test.each([
    ['bytes that are no text', Buffer.from(seededRandom(1).bytes(900_000)).toString()],
    ['control characters', '\u0001'.repeat(1_000_000)],
    ['half characters', '\ud800'.repeat(300_000)],
    ['plain text', 'x'.repeat(1_000_000)],
  ])('of %s that are too large are cut, and say how long they were', (_, text) => {
    const [piece, ...others] = [...letterPieces([letterOf(text)])];
    expect(others).toEqual([]);
    expect(piece![0]!.length).toBeLessThanOrEqual(letterBytesMax);
    const { text: kept, place, reason } = read(piece![0]!);
    expect(text.startsWith(kept)).toBe(true);
    expect(kept.length).toBeGreaterThan(letterBytesMax / 20);
    expect(place).toBe('links/0/7');
    expect(reason).toBe(
      `the message is not JSON (of ${text.length} characters only the first ${kept.length} are kept)`,
    );
  });

  test('whose reason is too large get a short one, and keep all of their text', () => {
    const [letter] = readAll([letterOf('{"v":9}', 'y'.repeat(1_000_000))]);
    expect(letter).toEqual(letterOf('{"v":9}', 'y'.repeat(1_000)));
  });
});

const attemptsMax = 400;
const attemptPauseMs = 50;
/** Long, because a machine that is busy with other tests is not a broker outage. */
const writeMaxMs = 60_000;

/** A new topic may take a moment to get its leader. */
async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === attemptsMax || !isTransient(error)) throw error;
      await sleep(clock, attemptPauseMs);
    }
  }
}

async function openFresh(): Promise<{ address: KafkaAddress; queue: LinkQueue }> {
  const address = parseKafkaAddress((await sharedKafka()).freshTopicUrl({ partitions: 1 }));
  const queue = openKafkaQueue(address, { clock, onError: () => undefined, writeMaxMs });
  await patiently(() => queue.behind());
  return { address, queue };
}

/** All dead letters, which may be more than brokers return at once. */
async function deadLetteredAt(address: KafkaAddress): Promise<DeadLetter[]> {
  const reader = openKafkaReader(address, { clock });
  const letters: DeadLetter[] = [];
  for (let next = 0, end = 1; next < end; ) {
    const wanted = { bytesMax: 1_000_000, waitMaxMs: 500 };
    const [fetched] = await reader.fetch(deadTopicOf(address), new Map([[0, next]]), wanted);
    if (fetched === undefined) throw new Error('the topic of dead letters has no leader');
    letters.push(...fetched.messages.map(({ value }) => JSON.parse(value.toString()) as DeadLetter));
    ({ next, end } = fetched);
  }
  await reader.close();
  return letters;
}

describeWithEngine('kafka', 'burying in Kafka', () => {
  test('more dead letters than brokers accept at once are all stored', async () => {
    const { address, queue } = await openFresh();
    const letters = Array.from({ length: 500 }, (_, n) => ({
      text: `${n} ${'x'.repeat(2_500)}`,
      place: String(n),
      reason: 'its code belongs to another link',
    }));
    await patiently(() => queue.deadLetter(letters));
    expect(await deadLetteredAt(address)).toEqual(letters);
    await queue.close();
  });

  test('a non-link message of the largest size is dead-lettered, and the link behind it is stored', async () => {
    const { address, queue } = await openFresh();
    const topic = linksTopicOf(address);
    const poison = Buffer.from(seededRandom(1).bytes(900_000));
    const link = sampleLink('behind');
    const producer = openKafkaProducer(address, { clock });
    for (const value of [poison, Buffer.from(encodeQueuedLink(link))])
      await producer.send([{ topic, partition: 0, value }], writeMaxMs);
    await producer.close();
    const store = createMemoryStore();
    const pendings = createMemoryPendings(clock);
    const drain = new Drain({ queue, store, pendings, perS: 200, clock, onError: () => undefined });
    drain.start();
    for (let attempt = 0; attempt < attemptsMax && (await queue.behind()) > 0; attempt += 1)
      await sleep(clock, attemptPauseMs);
    await drain.stop();
    expect(await queue.behind()).toBe(0);
    expect(await store.find('behind')).toEqual(link);
    expect(drain.dead).toBe(1);
    const [letter] = await deadLetteredAt(address);
    const text = poison.toString();
    expect(letter!.place).toBe(`${topic}/0/0`);
    expect(letter!.reason).toStartWith(`the message is not JSON (of ${text.length} characters only`);
    expect(text.startsWith(letter!.text)).toBe(true);
    await queue.close();
  });
});
