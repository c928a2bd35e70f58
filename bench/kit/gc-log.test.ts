import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { gcCells, gcColumns, gcLogSettings, readGcLog } from './gc-log.ts';

const log = `
[GC<0x1a>: starting 35.390564ms]
[GC<0x1a>: START M 9109kb => EdenCollection, a=0kb hf=0.000 v=0kb o=0 b=0 p=5.202583ms (max 5.202583)...]
a line of the program [GC<0x1a>: M a=1192kb hf=0.352 mu=0.389 o=0 b=1 0+1 p=1.208145ms (max 5.202583)...]
[GC<0x2b>: START M 19670kb => FullCollection, a=0kb b=1 => 10386kb, p=1.983999ms (max 1.983999), cycle 12.02ms END]
GC END!
[GC<0x1a>: epilogue 0.021485ms]
`;

test('every pause is found, heap by heap, and other lines are ignored', () => {
  expect(readGcLog(log)).toEqual([
    { heap: '0x1a', young: 1, full: 0, pausesMs: [5.202583, 1.208145] },
    { heap: '0x2b', young: 0, full: 1, pausesMs: [1.983999] },
  ]);
  expect(readGcLog('nothing of the kind')).toEqual([]);
});

test('the longest pause and the share of the time are those of the heap', () => {
  const cells = gcCells({ heap: '', young: 3, full: 1, pausesMs: [1, 7, 2] }, 2);
  expect(cells).toHaveLength(gcColumns.length);
  expect(cells.map(cell => (typeof cell === 'string' ? cell : cell.values[0]))).toEqual([
    2, 1, 1.5, 7, 7, 0.5,
  ]);
});

test('the current runtime writes such a log', async () => {
  const script = 'const kept = []; for (let n = 0; n < 2e6; n += 1) kept.push({ n });';
  const child = Bun.spawn([process.execPath, '-e', script], {
    cwd: join(import.meta.dir, '../..'),
    env: { ...gcLogSettings },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const [heap] = readGcLog(await new Response(child.stderr).text());
  expect(heap!.young + heap!.full).toBeGreaterThan(0);
  expect(heap!.pausesMs.length).toBeGreaterThanOrEqual(heap!.young + heap!.full);
});
