/**
 * Safe Browsing version 5 in its local-list mode: `hashLists:batchGet` keeps the lists up to date, `hashes:search`
 * tells the full hashes behind a prefix. The real-time mode, which asks about every URL that the global cache of
 * likely harmless ones does not hold, is left out on purpose: it would tell the server of nearly every link made.
 */
import { type FoundHash, type HashAnswer, type ListUpdate, type SafeBrowsingApi, threatOf } from './api.ts';
import { hostSuffixesV5 } from './expressions.ts';
import { malformed } from './fault.ts';
import { hashBytesMax, hashTimeMaxMs, listBytesMax, listTimeMaxMs } from './limits.ts';
import { noPrefixes, prefixesMax } from './prefix-list.ts';
import { bytesOf, durationMsOf, fieldsOf, numberOf, numbersOf, textOf } from './protobuf.ts';
import { decodeRice, riceDeltasOf } from './rice.ts';
import type { Transport } from './transport.ts';

/** Everything there is against people who follow links, on whatever they follow them with. */
const listNames = ['se-4b', 'mw-4b', 'uws-4b', 'uwsa-4b', 'pha-4b'];
const sha256Bytes = 32;

export function createClientV5(transport: Transport): SafeBrowsingApi {
  return {
    version: 'v5',
    server: transport.server,
    listNames,
    hostSuffixes: hostSuffixesV5,

    async fetchLists(held) {
      const query = new URLSearchParams({ alt: 'proto' });
      for (const { name } of held) query.append('names', name);
      for (const { version } of held) {
        if (version.length > 0) query.append('version', Buffer.from(version).toString('base64'));
      }
      const path = `/v5/hashLists:batchGet?${query}`;
      const bytes = await transport.exchange({ path, timeMaxMs: listTimeMaxMs, bytesMax: listBytesMax });
      return readHashLists(bytes);
    },

    async findHashes(prefixes) {
      const query = new URLSearchParams({ alt: 'proto' });
      for (const prefix of prefixes) query.append('hashPrefixes', Buffer.from(prefix).toString('base64'));
      const path = `/v5/hashes:search?${query}`;
      const bytes = await transport.exchange({ path, timeMaxMs: hashTimeMaxMs, bytesMax: hashBytesMax });
      return readFoundHashes(bytes);
    },
  };
}

/** BatchGetHashListsResponse. */
export async function readHashLists(message: Uint8Array): Promise<ListUpdate[]> {
  const updates: ListUpdate[] = [];
  for (const field of fieldsOf(message))
    if (field.number === 1) updates.push(await readHashList(bytesOf(field)));
  return updates;
}

async function readHashList(message: Uint8Array): Promise<ListUpdate> {
  let [name, isPartial] = ['', false];
  let version: Uint8Array = new Uint8Array();
  let checksum: Uint8Array | undefined;
  let removals: Uint32Array = noPrefixes.fourByte;
  let fourByte: Uint32Array = noPrefixes.fourByte;
  // Left out, it means that there is more to come at once.
  let waitMs = 0;
  for (const field of fieldsOf(message)) {
    if (field.number === 1) name = textOf(field);
    else if (field.number === 2) version = bytesOf(field).slice();
    else if (field.number === 3) isPartial = numberOf(field) !== 0;
    else if (field.number === 4) fourByte = await decodeRice(riceDeltasOf(field), prefixesMax);
    else if (field.number === 5) removals = await decodeRice(riceDeltasOf(field), prefixesMax);
    else if (field.number === 6) waitMs = durationMsOf(field);
    else if (field.number === 7) checksum = bytesOf(field).slice();
    // The lists asked for have four-byte prefixes; additions of any other length would be another list.
    else if (field.number >= 9 && field.number <= 11) throw malformed('prefixes of an unexpected length');
  }
  const kind = isPartial ? 'partial' : 'full';
  return { name, kind, removals, additions: { fourByte, longer: [] }, version, checksum, waitMs };
}

/** SearchHashesResponse. */
export function readFoundHashes(message: Uint8Array): HashAnswer {
  const found: Omit<FoundHash, 'cacheMs'>[] = [];
  let cacheMs = 0;
  for (const field of fieldsOf(message)) {
    if (field.number === 1) found.push(...readFullHash(bytesOf(field)));
    if (field.number === 2) cacheMs = durationMsOf(field);
  }
  return { found: found.map(each => ({ ...each, cacheMs })), cacheMs, waitMs: 0 };
}

function readFullHash(message: Uint8Array): Omit<FoundHash, 'cacheMs'>[] {
  let hash: Uint8Array = new Uint8Array();
  const details: Uint8Array[] = [];
  for (const field of fieldsOf(message)) {
    if (field.number === 1) hash = bytesOf(field).slice();
    if (field.number === 2) details.push(bytesOf(field));
  }
  if (hash.length !== sha256Bytes) throw malformed(`a full hash of ${hash.length} bytes`);
  return details.flatMap(detail => {
    const threat = enforcedThreat(detail);
    return threat === undefined ? [] : [{ hash, threat }];
  });
}

/**
 * A detail with an attribute is not for us: a canary is not to be acted upon, a frame-only threat speaks of frames
 * inside pages, and one that this version does not know must be left alone.
 */
function enforcedThreat(detail: Uint8Array) {
  let threat: ReturnType<typeof threatOf>;
  let attributes = 0;
  for (const field of fieldsOf(detail)) {
    if (field.number === 1) threat = threatOf(numberOf(field));
    if (field.number === 2) attributes += numbersOf(field).length;
  }
  return attributes === 0 ? threat : undefined;
}
