/**
 * Safe Browsing version 4, the Update API: `threatListUpdates:fetch` keeps the lists up to date, `fullHashes:find`
 * tells the full hashes behind a prefix. For servers that speak nothing newer.
 * Its numbers are the prefixes read as little-endian, and it may send prefixes of more than four bytes uncompressed.
 */
import {
  type FoundHash,
  type HashAnswer,
  type HeldList,
  type ListUpdate,
  type SafeBrowsingApi,
  threatOf,
} from './api.ts';
import { hostSuffixesV4 } from './expressions.ts';
import { malformed } from './fault.ts';
import { hashBytesMax, hashTimeMaxMs, listBytesMax, listTimeMaxMs } from './limits.ts';
import { bytesOf, durationMsOf, fieldsOf, MessageWriter, numberOf } from './protobuf.ts';
import type { Transport } from './transport.ts';
import { readEntrySets } from './v4-entry-sets.ts';

interface ListNumbers {
  readonly threat: number;
  readonly platform: number;
}

const anyPlatform = 6;
const android = 3;
const urlExpression = 1;
const raw = 1;
const rice = 2;
const sha256Bytes = 32;

/** A list's name, and what it is in numbers. */
const lists: Readonly<Record<string, ListNumbers>> = {
  social_engineering: { threat: 2, platform: anyPlatform },
  malware: { threat: 1, platform: anyPlatform },
  unwanted_software: { threat: 3, platform: anyPlatform },
  potentially_harmful_application: { threat: 4, platform: android },
};

export function createClientV4(transport: Transport, clientVersion: string): SafeBrowsingApi {
  const writeClient = (client: MessageWriter): void => void client.text(1, 'terse').text(2, clientVersion);
  return {
    version: 'v4',
    server: transport.server,
    listNames: Object.keys(lists),
    hostSuffixes: hostSuffixesV4,

    async fetchLists(held) {
      const request = new MessageWriter().message(1, writeClient);
      for (const { name, version } of held) {
        request.message(3, list =>
          list
            .number(1, lists[name]!.threat)
            .number(2, lists[name]!.platform)
            .bytes(3, version)
            .message(4, constraints => constraints.number(4, rice).number(4, raw))
            .number(5, urlExpression),
        );
      }
      const path = '/v4/threatListUpdates:fetch?alt=proto';
      const body = request.finish();
      const bytes = await transport.exchange({
        path,
        body,
        timeMaxMs: listTimeMaxMs,
        bytesMax: listBytesMax,
      });
      return readListUpdates(bytes);
    },

    async findHashes(prefixes, held) {
      const path = '/v4/fullHashes:find?alt=proto';
      const body = findRequest(prefixes, held, writeClient);
      const bytes = await transport.exchange({
        path,
        body,
        timeMaxMs: hashTimeMaxMs,
        bytesMax: hashBytesMax,
      });
      return readMatches(bytes);
    },
  };
}

function findRequest(
  prefixes: readonly Uint8Array[],
  held: readonly HeldList[],
  writeClient: (client: MessageWriter) => void,
): Uint8Array {
  const request = new MessageWriter().message(1, writeClient);
  for (const { version } of held) request.bytes(2, version);
  request.message(3, info => {
    for (const { threat } of Object.values(lists)) info.number(1, threat);
    info.number(2, anyPlatform).number(2, android);
    for (const prefix of prefixes) info.message(3, entry => entry.bytes(1, prefix));
    info.number(4, urlExpression);
  });
  return request.finish();
}

/** FetchThreatListUpdatesResponse. */
export async function readListUpdates(message: Uint8Array): Promise<ListUpdate[]> {
  const updates: ListUpdate[] = [];
  let waitMs: number | undefined;
  for (const field of fieldsOf(message)) {
    if (field.number === 1) updates.push(await readListUpdate(bytesOf(field)));
    // No time to wait is none at all: version 4 then leaves it to the client.
    if (field.number === 2) waitMs = durationMsOf(field) || undefined;
  }
  return updates.map(update => ({ ...update, waitMs }));
}

async function readListUpdate(message: Uint8Array): Promise<ListUpdate> {
  let [threat, platform, responseType] = [0, 0, 0];
  const [additions, removals]: [Uint8Array[], Uint8Array[]] = [[], []];
  let version: Uint8Array = new Uint8Array();
  let checksum: Uint8Array | undefined;
  for (const field of fieldsOf(message)) {
    if (field.number === 1) threat = numberOf(field);
    if (field.number === 3) platform = numberOf(field);
    if (field.number === 4) responseType = numberOf(field);
    if (field.number === 5) additions.push(bytesOf(field));
    if (field.number === 6) removals.push(bytesOf(field));
    if (field.number === 7) version = bytesOf(field).slice();
    if (field.number === 8) {
      for (const part of fieldsOf(bytesOf(field))) if (part.number === 1) checksum = bytesOf(part).slice();
    }
  }
  if (responseType !== 1 && responseType !== 2) throw malformed(`response type ${responseType}`);
  const [name = ''] =
    Object.entries(lists).find(([, list]) => list.threat === threat && list.platform === platform) ?? [];
  return {
    name,
    kind: responseType === 1 ? 'partial' : 'full',
    ...(await readEntrySets(additions, removals)),
    version,
    checksum,
    waitMs: undefined,
  };
}

/** FindFullHashesResponse. */
export function readMatches(message: Uint8Array): HashAnswer {
  const found: FoundHash[] = [];
  let [cacheMs, waitMs] = [0, 0];
  for (const field of fieldsOf(message)) {
    if (field.number === 1) found.push(...readMatch(bytesOf(field)));
    if (field.number === 2) waitMs = durationMsOf(field);
    if (field.number === 3) cacheMs = durationMsOf(field);
  }
  return { found, cacheMs, waitMs };
}

function readMatch(message: Uint8Array): FoundHash[] {
  let threat: ReturnType<typeof threatOf>;
  let hash: Uint8Array = new Uint8Array();
  let cacheMs = 0;
  for (const field of fieldsOf(message)) {
    if (field.number === 1) threat = threatOf(numberOf(field));
    if (field.number === 3) {
      for (const part of fieldsOf(bytesOf(field))) if (part.number === 1) hash = bytesOf(part).slice();
    }
    if (field.number === 5) cacheMs = durationMsOf(field);
  }
  if (hash.length !== sha256Bytes) throw malformed(`a full hash of ${hash.length} bytes`);
  return threat === undefined ? [] : [{ hash, threat, cacheMs }];
}
