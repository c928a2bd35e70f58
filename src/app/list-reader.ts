/** Reads lists: short ones here, long ones on a thread of their own that hands over the result without a copy. */
import { stat } from 'node:fs/promises';
import type { CompiledList } from '../abuse/compiled-list.ts';
import { type CompiledAges, compileAges } from '../abuse/domain-ages.ts';
import { compileFile, readText } from '../abuse/list-file.ts';
import type { ListReply, ListRequest } from './list-thread.ts';

/** About two milliseconds of work. */
const shortBytesMax = 64 * 1024;

export async function readBlocklist(path: string, key: Uint8Array): Promise<CompiledList> {
  if (await isShort(path)) return compileFile(path, key);
  const reply = await onThread({ kind: 'blocklist', path, key });
  if (reply.kind === 'blocklist') return reply.list;
  throw new Error('unexpected reply of the list thread');
}

export async function readDomainAges(path: string, key: Uint8Array, now: number): Promise<CompiledAges> {
  if (await isShort(path)) return compileAges(await readText(path), key, now);
  const reply = await onThread({ kind: 'ages', path, key, now });
  if (reply.kind === 'ages') return reply.ages;
  throw new Error('unexpected reply of the list thread');
}

async function isShort(path: string): Promise<boolean> {
  return (await stat(path)).size <= shortBytesMax;
}

function onThread(request: ListRequest): Promise<ListReply> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./list-thread.ts', import.meta.url));
    worker.onmessage = ({ data }: MessageEvent<ListReply>) => {
      worker.terminate();
      if (data.kind === 'fault') reject(new Error(data.fault));
      else resolve(data);
    };
    worker.onerror = event => {
      worker.terminate();
      reject(new Error(event.message));
    };
    worker.postMessage(request);
  });
}
