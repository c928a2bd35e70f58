/** The entry point of a thread that reads one list and ends: a million lines take a second, too long for redirects. */

import { giveWay } from '../base/thread-call.ts';
import { type CompiledList, compileFile, readText } from './compiled-list.ts';
import { type CompiledAges, compileAges } from './domain-ages.ts';

declare const self: Worker;

giveWay();

export type ListRequest =
  | { readonly kind: 'blocklist'; readonly path: string; readonly key: Uint8Array }
  | { readonly kind: 'ages'; readonly path: string; readonly key: Uint8Array; readonly now: number };

export type ListReply =
  | { readonly kind: 'blocklist'; readonly list: CompiledList }
  | { readonly kind: 'ages'; readonly ages: CompiledAges }
  | { readonly kind: 'fault'; readonly fault: string };

async function replyTo(request: ListRequest): Promise<{ reply: ListReply; buffers: ArrayBuffer[] }> {
  if (request.kind === 'blocklist') {
    const list = await compileFile(request.path, request.key);
    const buffers = [list.blocks, list.exceptions].map(({ hashes }) => hashes.slots.buffer);
    return { reply: { kind: 'blocklist', list }, buffers };
  }
  const ages = compileAges(await readText(request.path), request.key, request.now);
  return { reply: { kind: 'ages', ages }, buffers: ages.days.map(({ hashes }) => hashes.slots.buffer) };
}

self.onmessage = async ({ data }: MessageEvent<ListRequest>) => {
  try {
    const { reply, buffers } = await replyTo(data);
    // Garbage from reading is freed now, and not kept by a thread that is about to end.
    Bun.gc(true);
    self.postMessage(reply, buffers);
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    self.postMessage({ kind: 'fault', fault } satisfies ListReply);
  }
};
