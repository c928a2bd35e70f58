import { expect, test } from 'bun:test';
import { Problem } from '../base/errors.ts';
import { openKafkaSources } from './open-kafka.ts';
import { createReports } from './reports.ts';
import { openSqliteWarehouse } from './warehouses/sqlite/warehouse.ts';

const nowhere = { stream: 'kafka://127.0.0.1:1/clicks', stats: 'sqlite', rawDays: 1 };
const filter = { code: 'abc', ownerId: 'acc_1', from: 0, to: 1, format: 'ndjson' } as const;

test('while Kafka is down, what needs it is temporarily unavailable, not an internal error', async () => {
  const sources = openKafkaSources(nowhere, () => ({ positions: async () => new Map() }));
  const reports = createReports(
    () => openSqliteWarehouse(':memory:'),
    async () => sources,
  );
  for (const ask of [() => sources.heads(), () => reports.exportPart(filter, undefined)]) {
    const error = await ask().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Problem);
    expect(error).toMatchObject({ code: 'stats_unavailable', detail: 'Kafka does not answer.' });
  }
});

test('a warehouse that is down is reported with its own problem', async () => {
  const unavailable = new Problem('stats_unavailable', { detail: 'ClickHouse did not answer in time.' });
  const sources = openKafkaSources(nowhere, () => ({ positions: () => Promise.reject(unavailable) }));
  await expect(sources.heads()).rejects.toBe(unavailable);
});
