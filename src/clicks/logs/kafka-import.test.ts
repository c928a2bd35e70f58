import { expect, test } from 'bun:test';
import type { OutgoingMessage } from '../../engines/kafka/producer.ts';
import { sampleBatch, samplesStart } from '../batch-samples.ts';
import { clickCount } from '../click.ts';
import { openImport } from '../edge-import.ts';
import { decodeFrame } from '../frame.ts';
import { createKafkaWriter } from './kafka.ts';

const codes = ['a', 'b', 'c', 'a', 'd', 'e', 'b', 'a', 'f', 'c'];
const producer = 'edge-0123';
/** Each click has a time of its own, by which it is known. */
const clicksFrom = (index: number) =>
  codes.slice(index).map((code, place) => ({ at: samplesStart + index + place, code }));

/** Which number each click is sent under, by its name and time, when so many of them are stored. */
async function numbersGiven(stored: number): Promise<{ numbers: Map<number, string>; noted: number[] }> {
  const sent: OutgoingMessage[] = [];
  const noted: number[] = [];
  const writer = createKafkaWriter({
    kafka: {
      async send(messages) {
        sent.push(...messages);
        return [];
      },
      async close() {},
    },
    topic: 'clicks',
    producer,
  });
  const sink = openImport({
    writer,
    partitions: 3,
    producer,
    stored: { read: () => (stored === 0 ? undefined : stored), write: value => void noted.push(value) },
  });
  expect(sink.stored).toBe(stored);
  for (const code of codes.slice(0, stored)) sink.pass(code);
  await sink.append(sampleBatch(stored + 1, clicksFrom(stored)));
  await sink.close();
  const numbers = new Map<number, string>();
  for (const { value, partition } of sent) {
    const { batch, producer: name } = decodeFrame(Buffer.from(value), 0)!;
    expect(name).toBe(`${producer}/${partition}`);
    for (let index = 0; index < clickCount(batch); index += 1)
      numbers.set(batch.at[index]!, `${name} ${batch.firstSequence + index}`);
  }
  return { numbers, noted };
}

test('a click has the same number in its partition wherever an import continues', async () => {
  const { numbers: whole, noted } = await numbersGiven(0);
  expect(whole.size).toBe(codes.length);
  expect(new Set(whole.values()).size).toBe(codes.length);
  expect(noted).toEqual([codes.length]);
  for (const stored of [1, 4, 9]) {
    const { numbers } = await numbersGiven(stored);
    expect([...numbers].sort()).toEqual([...whole].filter(([at]) => at >= samplesStart + stored).sort());
  }
});
