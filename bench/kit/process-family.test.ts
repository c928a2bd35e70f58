import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { until } from '../../test/kit/until.ts';
import { childrenOf, familyOf, isRunning } from './process-family.ts';

const hasProc = existsSync('/proc/self/stat');

test.skipIf(!hasProc)('a family has the children and their children, and no other process', async () => {
  // The shell says who its own child is, and both stay until their input ends.
  const shell = Bun.spawn(['sh', '-c', 'cat <&3 & echo $!; wait'], {
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  });
  const stranger = Bun.spawn(['cat'], { stdin: 'pipe', stdout: 'ignore' });
  try {
    const { value } = await shell.stdout.getReader().read();
    const grandchild = Number(new TextDecoder().decode(value));
    expect(familyOf(shell.pid).toSorted()).toEqual([shell.pid, grandchild].toSorted());
    expect(childrenOf(shell.pid)).toEqual([grandchild]);
    expect(familyOf(process.pid)).toContain(grandchild);
    expect(childrenOf(process.pid)).not.toContain(grandchild);
    process.kill(grandchild);
  } finally {
    shell.kill();
    stranger.kill();
    await Promise.all([shell.exited, stranger.exited]);
  }
  expect(childrenOf(process.pid)).not.toContain(shell.pid);
});

test.skipIf(!hasProc)('a zombie is not a child', async () => {
  // After `exec`, `cat` does not know of its child and never waits for it.
  const parent = Bun.spawn(['sh', '-c', 'sleep 60 & echo $!; exec cat'], { stdin: 'pipe', stdout: 'pipe' });
  try {
    const { value } = await parent.stdout.getReader().read();
    const child = Number(new TextDecoder().decode(value));
    await until(
      'the parent to become cat',
      () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'cat\n',
    );
    expect(childrenOf(parent.pid)).toEqual([child]);
    expect(isRunning(child)).toBe(true);
    process.kill(child);
    await until('the child to end', () => readFileSync(`/proc/${child}/stat`, 'utf8').includes(') Z '));
    expect(childrenOf(parent.pid)).toEqual([]);
    expect(isRunning(child)).toBe(false);
  } finally {
    parent.kill();
    await parent.exited;
  }
});

test('a process without children, or that is not there, is alone', () => {
  expect(familyOf(2 ** 30)).toEqual([2 ** 30]);
  expect(childrenOf(2 ** 30)).toEqual([]);
});
