import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { usageOf } from './process-usage.ts';

const hasProc = existsSync('/proc/self/stat');

test.skipIf(!hasProc)('the usage of a process grows with what it does', () => {
  const before = usageOf(process.pid)!;
  const kept = new Uint8Array(64 * 1024 * 1024).fill(1);
  for (let turn = 0; usageOf(process.pid)!.cpuMs < before.cpuMs + 20; turn += 1)
    kept[turn % kept.length]! += 1;
  const after = usageOf(process.pid)!;
  expect(after.anonymousMb).toBeGreaterThan(before.anonymousMb + 32);
  expect(after.residentMb).toBeGreaterThanOrEqual(after.anonymousMb);
});

const burn = 'for (const from = process.cpuUsage().user; process.cpuUsage().user < from + 200_000; );';

test.skipIf(!hasProc)('what a child does counts for its parent, also after it has ended', async () => {
  const script = `${burn} process.stdout.write('.'); await Bun.stdin.text();`;
  const before = usageOf(process.pid)!;
  const child = Bun.spawn([process.execPath, '-e', script], { stdin: 'pipe', stdout: 'pipe' });
  await child.stdout.getReader().read();
  const during = usageOf(process.pid)!;
  expect(during.cpuMs - before.cpuMs).toBeGreaterThanOrEqual(200);
  child.stdin.end();
  await child.exited;
  const after = usageOf(process.pid)!;
  expect(after.cpuMs - before.cpuMs).toBeGreaterThanOrEqual(200);
});

test('a process that does not exist has no usage', () => {
  expect(usageOf(2 ** 30)).toBeUndefined();
});
