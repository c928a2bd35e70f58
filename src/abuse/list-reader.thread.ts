/** The entry point of a thread that reads one list and ends: a million lines take a second, too long for redirects. */

import { giveWay } from '../base/thread-call.ts';
import { type CompiledList, compileFile, readText } from './compiled-list.ts';
import { type CompiledAges, compileAges } from './domain-ages.ts';
import type { HashSetData } from './hash-set.ts';

declare const self: Worker;

giveWay();

export type ListRequest =
  | { readonly kind: 'blocklist'; readonly path: string; readonly key: Uint8Array }
  | { readonly kind: 'ages'; readonly path: string; readonly key: Uint8Array; readonly now: number };

/** The compiled blocklist or the ages, whichever was requested. */
export type ListReply = { readonly value: CompiledList | CompiledAges } | { readonly fault: string };

async function read(
  request: ListRequest,
): Promise<{ value: CompiledList | CompiledAges; sets: HashSetData[] }> {
  if (request.kind === 'blocklist') {
    const value = await compileFile(request.path, request.key);
    return { value, sets: [value.blocks.hashes, value.exceptions.hashes] };
  }
  const value = compileAges(await readText(request.path), request.key, request.now);
  return { value, sets: value.days.map(({ hashes }) => hashes) };
}

self.onmessage = async ({ data }: MessageEvent<ListRequest>) => {
  try {
    const { value, sets } = await read(data);
    // Free the garbage from reading now: the thread is about to end.
    Bun.gc(true);
    self.postMessage(
      { value } satisfies ListReply,
      sets.map(({ slots }) => slots.buffer),
    );
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    self.postMessage({ fault } satisfies ListReply);
  }
};
