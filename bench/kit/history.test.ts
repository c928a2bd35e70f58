import { expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appendHistory, mediansOf, readHistory } from './history.ts';
import { measure } from './measure.ts';
import { tableRecord } from './table.ts';

const table = tableRecord({
  title: 'Redirects',
  columns: ['server', 'state', 'requests/s', 'unmeasured', 'unit'],
  rows: [
    ['Terse', 'warm', measure([90_123.456, 80_000, 100_000]), measure([]), 'per second'],
    ['nginx', 'warm', measure(120_000), measure(Number.NaN), 'per second'],
  ],
});

test('the medians of a table are found by the words of their row and by their column', () => {
  expect(mediansOf({ warm: [table] })).toEqual({
    warm: {
      Redirects: {
        'Terse, warm, per second': { 'requests/s': 90_123 },
        'nginx, warm, per second': { 'requests/s': 120_000 },
      },
    },
  });
});

test('a run is added behind those before it, which stay as they are', () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-bench-'));
  try {
    const path = join(folder, 'history.ndjson');
    const entry = {
      at: '2026-01-01T00:00:00.000Z',
      version: '1.0.0',
      machine: 'one core',
      runtime: 'Bun',
      client: 'wrk',
      scaledDown: [],
      medians: mediansOf({ warm: [table] }),
    };
    expect(readHistory(path)).toEqual([]);
    appendHistory(path, entry);
    const first = readFileSync(path, 'utf8');
    appendHistory(path, { ...entry, at: '2026-01-02T00:00:00.000Z' });
    expect(readFileSync(path, 'utf8').startsWith(first)).toBe(true);
    expect(readHistory(path)).toEqual([entry, { ...entry, at: '2026-01-02T00:00:00.000Z' }]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
