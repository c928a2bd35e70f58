import { expect, test } from 'bun:test';
import { allowedCores, boundTo, parseCoreList, splitCores } from './cores.ts';

test('ranges and single cores are read as the kernel writes them', () => {
  expect(parseCoreList('0-3,8,10-11')).toEqual([0, 1, 2, 3, 8, 10, 11]);
  expect(parseCoreList('5')).toEqual([5]);
  expect(parseCoreList('')).toEqual([]);
});

test('server and load have no core in common while there are enough', () => {
  expect(splitCores([2, 3, 4, 5], 2)).toEqual({ server: [2, 3], load: [4, 5], areShared: false });
});

test('with too few cores both share all of them, and this is reported', () => {
  expect(splitCores([0, 1], 2)).toEqual({ server: [0, 1], load: [0, 1], areShared: true });
  expect(splitCores([], 1)).toEqual({ server: [], load: [], areShared: true });
});

test('a command that cannot be bound stays as it is', () => {
  expect(boundTo([], ['serve', '--now'])).toEqual(['serve', '--now']);
});

test.skipIf(allowedCores().length === 0)('a bound command runs only on its cores', async () => {
  const core = allowedCores().at(-1)!;
  const child = Bun.spawn(boundTo([core], ['grep', 'Cpus_allowed_list', '/proc/self/status']), {
    stdout: 'pipe',
  });
  expect((await new Response(child.stdout).text()).trim().split(/\s+/)[1]).toBe(String(core));
});
