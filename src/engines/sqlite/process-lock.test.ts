import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProcessLock } from './process-lock.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const lockHere = (): ProcessLock => new ProcessLock(join(folder, 'new', 'lock'));

function held(lock: ProcessLock): { release: () => void; outcome: Promise<boolean> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { release: resolve, outcome: lock.tryRun(() => promise) };
}

describe('a process lock', () => {
  test('is held by one at a time, and free again afterwards', async () => {
    const [first, second] = [lockHere(), lockHere()];
    const holding = held(first);
    let ran = false;
    const work = async (): Promise<void> => {
      ran = true;
    };
    expect(await second.tryRun(work)).toBe(false);
    expect(await first.tryRun(work)).toBe(false);
    expect(ran).toBe(false);
    holding.release();
    expect(await holding.outcome).toBe(true);
    expect(await second.tryRun(work)).toBe(true);
    expect(ran).toBe(true);
  });

  test('is released when the work fails', async () => {
    const [first, second] = [lockHere(), lockHere()];
    await expect(first.tryRun(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await second.tryRun(async () => undefined)).toBe(true);
  });

  test('is released when its process is killed', async () => {
    const script = `
      import { ProcessLock } from ${JSON.stringify(join(import.meta.dir, 'process-lock.ts'))};
      await new ProcessLock(${JSON.stringify(join(folder, 'new', 'lock'))}).tryRun(async () => {
        process.stdout.write('held');
        await new Promise(resolve => setTimeout(resolve, 60_000));
      });`;
    const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' });
    await child.stdout.getReader().read();
    const ours = lockHere();
    expect(await ours.tryRun(async () => undefined)).toBe(false);
    child.kill('SIGKILL');
    await child.exited;
    expect(await ours.tryRun(async () => undefined)).toBe(true);
  });
});
