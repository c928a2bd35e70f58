import { expect, test } from 'bun:test';
import { systemClock } from '../../base/clock.ts';
import type { KafkaReader } from '../../engines/kafka/reader.ts';
import { HeadBook } from './kafka-heads.ts';

/** No leader for the first reads, then one announcement. */
function readerAfter(failures: number): { reader: KafkaReader; reads: () => number } {
  let reads = 0;
  const value = Buffer.from(JSON.stringify({ sequence: 5, lastClickAt: 1 }));
  const message = { key: Buffer.from('one'), value, at: systemClock.now() };
  const fetch = async () => {
    reads += 1;
    return reads <= failures ? [] : [{ messages: [message], next: 1, end: 1 }];
  };
  return { reader: { fetch } as unknown as KafkaReader, reads: () => reads };
}

const immediate = { ...systemClock, after: (_ms: number, work: () => void) => systemClock.after(0, work) };

test('a topic that has no leader for a moment is read when it has one', async () => {
  const { reader } = readerAfter(3);
  expect(await new HeadBook(reader, 'clicks', immediate).heads()).toMatchObject([
    { producer: 'one', sequence: 5 },
  ]);
});

test('one that gets none is given up after a while', async () => {
  const { reader, reads } = readerAfter(Number.POSITIVE_INFINITY);
  await expect(new HeadBook(reader, 'clicks', immediate).heads()).rejects.toThrow(
    'clicks-heads cannot be read',
  );
  expect(reads()).toBe(20);
});
