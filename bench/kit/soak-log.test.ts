import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSoakLog } from './soak-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'terse-bench-'));
afterAll(() => rmSync(folder, { recursive: true }));

const moment = (atS: number) => ({
  ...{ atS, served: 9, refused: 1, broken: 2, gaveUp: 4 },
  ...{ p50Ms: 0.1, p99Ms: 5, maxMs: 9 },
});

test('each interval has both sides, is on disk, and each minute is reported', async () => {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => Response.json({ totals: { pending: 500, dropped: 3 } }),
  });
  const notes: string[] = [];
  const log = startSoakLog({
    folder,
    server: { url: `http://127.0.0.1:${server.port}`, pid: process.pid },
    perSecond: 100,
    note: text => notes.push(text),
  });
  log.onMoment(moment(30));
  log.onMoment(moment(60));
  const samples = await log.close();
  expect(samples).toMatchObject([
    { atS: 30, p99Ms: 5, failed: 7, behindS: 5, dropped: 3 },
    { atS: 60, p50Ms: 0.1, maxMs: 9 },
  ]);
  expect(samples[0]!.residentMb).toBeGreaterThan(1);
  const [name] = readdirSync(folder);
  const lines = readFileSync(join(folder, name!), 'utf8').trim().split('\n');
  expect(lines.map(line => JSON.parse(line))).toEqual([...samples]);
  expect(notes.filter(text => text.startsWith('minute'))).toEqual([expect.stringContaining('minute 1: ')]);
  await server.stop(true);
});

test('a server that does not answer costs its own figures only', async () => {
  const log = startSoakLog({
    folder,
    server: { url: 'http://127.0.0.1:1', pid: process.pid },
    perSecond: 100,
    note: () => {},
  });
  log.onMoment(moment(10));
  expect(await log.close()).toMatchObject([{ atS: 10, p99Ms: 5, behindS: Number.NaN }]);
});
