import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { usageOf } from './process-usage.ts';

test.skipIf(!existsSync('/proc/self/stat'))('the usage of a process grows with what it does', () => {
  const before = usageOf(process.pid)!;
  const kept = new Uint8Array(64 * 1024 * 1024).fill(1);
  for (let turn = 0; usageOf(process.pid)!.cpuMs < before.cpuMs + 20; turn += 1)
    kept[turn % kept.length]! += 1;
  const after = usageOf(process.pid)!;
  expect(after.anonymousMb).toBeGreaterThan(before.anonymousMb + 32);
  expect(after.residentMb).toBeGreaterThanOrEqual(after.anonymousMb);
});

test('a process that does not exist has no usage', () => {
  expect(usageOf(2 ** 30)).toBeUndefined();
});
