/** The contract of `queue.ts`: every driver runs this against the real engine. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { DeadLetter, LinkQueue, QueueConsumer } from './queue.ts';

export interface QueueHarness {
  readonly queue: LinkQueue;
  /** The dead letters, as an operator sees them. */
  deadLettered(): Promise<readonly DeadLetter[]>;
  dispose(): Promise<void>;
}

/** Generous: it only ends a test that hangs. */
const timeoutMs = 60_000;
const waitMs = 100;

export function linkQueueConformance(name: string, open: () => Promise<QueueHarness>): void {
  describe(`the queue in ${name}`, () => {
    let harness: QueueHarness;
    let queue: LinkQueue;
    let consumers: QueueConsumer[];
    beforeEach(async () => {
      harness = await open();
      queue = harness.queue;
      consumers = [];
    });
    afterEach(async () => {
      for (const consumer of consumers) await consumer.close();
      await harness.dispose();
    });

    const consume = (): QueueConsumer => {
      const consumer = queue.consume();
      consumers.push(consumer);
      return consumer;
    };
    const textsOf = (count: number): string[] =>
      Array.from({ length: count }, (_, n) => `{"n":${n},"é":"✓"}`);
    const closeAll = async (from: readonly QueueConsumer[], wanted: ReadonlySet<string>, max = 1_000) => {
      const texts: string[] = [];
      const endMs = performance.now() + timeoutMs;
      while (!wanted.isSubsetOf(new Set(texts))) {
        if (performance.now() > endMs) throw new Error(`${texts.length} of ${wanted.size} messages came`);
        for (const consumer of from) {
          const taken = await consumer.take(max, waitMs);
          expect(taken.length).toBeLessThanOrEqual(max);
          texts.push(...taken.map(({ text }) => text));
        }
      }
      return texts;
    };
    const waiting = async (): Promise<string[]> => (await Array.fromAsync(queue.waiting())).flat();

    test('delivers appended messages, each once, never more at a time than requested', async () => {
      const texts = textsOf(25);
      for (const text of texts.slice(0, 5)) await queue.append([text]);
      await queue.append(texts.slice(5));
      const taken = await closeAll([consume()], new Set(texts), 4);
      expect(taken.toSorted()).toEqual(texts.toSorted());
    });

    test('delivers nothing when it is empty, and later messages when they arrive', async () => {
      const consumer = consume();
      expect(await consumer.take(10, waitMs)).toEqual([]);
      await queue.append(['late']);
      expect(await closeAll([consumer], new Set(['late']))).toEqual(['late']);
    });

    test('delivers unfinished messages again, to the next consumer, and finished ones never', async () => {
      await queue.append(['finished']);
      const first = consume();
      await closeAll([first], new Set(['finished']));
      await first.finish();
      await queue.append(['taken', 'not even taken']);
      await closeAll([first], new Set(['taken']));
      await first.close();
      const again = await closeAll([consume()], new Set(['taken', 'not even taken']));
      expect(again.toSorted()).toEqual(['not even taken', 'taken']);
    });

    test('knows how many are not finished and what they are, taken or not', async () => {
      expect(await queue.behind()).toBe(0);
      expect(await waiting()).toEqual([]);
      const texts = textsOf(1_200);
      await queue.append(texts);
      const consumer = consume();
      await closeAll([consumer], new Set(texts));
      expect(await queue.behind()).toBe(1_200);
      expect((await waiting()).toSorted()).toEqual(texts.toSorted());
      await consumer.finish();
      expect(await queue.behind()).toBe(0);
      expect(await waiting()).toEqual([]);
    });

    test('is shared by its consumers, and nothing is lost when one of them leaves', async () => {
      const texts = textsOf(400);
      const [first, second] = [consume(), consume()];
      for (let from = 0; from < texts.length; from += 20) await queue.append(texts.slice(from, from + 20));
      const seen = new Set((await first.take(50, waitMs)).map(({ text }) => text));
      await first.finish();
      for (const { text } of await first.take(50, waitMs)) seen.delete(text);
      await first.close();
      const left = new Set(texts).difference(seen);
      await closeAll([second], left);
      await second.finish();
      expect(await queue.behind()).toBe(0);
    });

    test('keeps unusable messages apart, with the reason', async () => {
      const letters = [
        { text: 'not a link', place: '0', reason: 'the message is not JSON' },
        { text: '{"v":1}', place: '1', reason: 'the link is not an object' },
      ];
      await queue.deadLetter(letters);
      expect((await harness.deadLettered()).toSorted((a, b) => a.place.localeCompare(b.place))).toEqual(
        letters,
      );
      expect(await queue.behind()).toBe(0);
    });
  });
}
