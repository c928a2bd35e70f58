import { expect, test } from 'bun:test';
import { getPriority } from 'node:os';

// Elsewhere a thread has no priority of its own.
test.if(process.platform === 'linux')('only the thread that gives way does', async () => {
  const source = `
    import { getPriority } from 'node:os';
    import { giveWay } from '${import.meta.dir}/background-thread.ts';
    giveWay();
    self.postMessage(getPriority());
  `;
  const before = getPriority();
  const worker = new Worker(URL.createObjectURL(new Blob([source], { type: 'application/typescript' })));
  const priority = await new Promise(resolve => {
    worker.onmessage = ({ data }) => resolve(data);
  });
  worker.terminate();
  expect(priority).toBe(5);
  expect(getPriority()).toBe(before);
});
