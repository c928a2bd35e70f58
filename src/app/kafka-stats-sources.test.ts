import { expect, test } from 'bun:test';
import { Problem } from '../base/errors.ts';
import { openKafkaStatsSources } from './kafka-stats-sources.ts';

const nowhere = { stream: 'kafka://127.0.0.1:1/clicks' };
const filter = { code: 'abc', from: 0, to: 1, format: 'ndjson' } as const;

test('while Kafka is away, what needs it is not available for now, and no fault of ours', async () => {
  const sources = openKafkaStatsSources(nowhere, () => ({ positions: async () => new Map() }));
  for (const ask of [() => sources.heads(), () => sources.exportPart(filter, undefined, 0)]) {
    const error = await ask().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Problem);
    expect(error).toMatchObject({ code: 'stats_unavailable', detail: 'Kafka does not answer for now.' });
  }
});

test('a warehouse that is away is told as it says it itself', async () => {
  const away = new Problem('stats_unavailable', { detail: 'ClickHouse did not answer in time.' });
  const sources = openKafkaStatsSources(nowhere, () => ({ positions: () => Promise.reject(away) }));
  await expect(sources.heads()).rejects.toBe(away);
});
