/**
 * Safe Browsing version 5 in its local-list mode: `hashLists:batchGet` keeps the lists up to date, `hashes:search`
 * returns the full hashes behind a prefix. The real-time mode is left out on purpose: it would reveal nearly every new
 * link to the server.
 *
 * Each exchange is bounded in time and size. The key is sent in a header, so it is in no access log; redirects are not
 * followed, so it goes nowhere else. Invariant: a call returns a valid answer or rejects with a `SafeBrowsingFault`.
 */
import { Reader } from 'protobufjs/minimal';
import type { Clock } from '../../base/clock.ts';
import { malformed, SafeBrowsingFault } from './fault.ts';
import { prefixesMax } from './lists.ts';
import { decodeRice, type RiceDeltas } from './rice.ts';

export interface ClientOptions {
  /** An http or https origin. */
  readonly server: string;
  readonly key: string;
  readonly clientVersion: string;
  readonly clock: Clock;
}

export interface HeldList {
  readonly name: string;
  /** The server's name for the state of the list; opaque, and empty for none. */
  readonly version: Uint8Array;
}

export interface ListUpdate {
  readonly name: string;
  /** Whether the additions change the local list, or replace it. */
  readonly kind: 'partial' | 'full';
  /** Positions in the local list, ascending. */
  readonly removals: Uint32Array;
  /** Four-byte prefixes as big-endian numbers, ascending. */
  readonly additions: Uint32Array;
  readonly version: Uint8Array;
  /** SHA-256 of the resulting list; undefined where the server says that nothing changed. */
  readonly checksum: Uint8Array | undefined;
  /** How long to wait before the next request; zero when there is more to fetch at once. */
  readonly waitMs: number;
}

export interface HashAnswer {
  readonly found: readonly FoundHash[];
  /** How long the answer is valid, including that no other hashes have the prefixes. */
  readonly cacheMs: number;
}

export interface FoundHash {
  readonly hash: Uint8Array;
  readonly threat: Threat;
}

/** By their numbers in the protocol. */
const threats = {
  1: 'malware',
  2: 'social_engineering',
  3: 'unwanted_software',
  4: 'potentially_harmful_application',
} as const;
export type Threat = (typeof threats)[keyof typeof threats];

const listTimeMaxMs = 60_000;
/** All lists, uncompressed, several times over. */
const listBytesMax = 64 * 1024 * 1024;
/** A create waits much less; a later answer is still useful for the next check. */
const hashTimeMaxMs = 2_000;
const hashBytesMax = 1024 * 1024;
const sha256Bytes = 32;

export class SafeBrowsingClient {
  readonly #options: ClientOptions;
  readonly #inFlight = new Set<AbortController>();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Lists are kept per server: updates of one do not apply to the lists of another. */
  get server(): string {
    return this.#options.server;
  }

  /** Asks for what changed since the versions held. */
  async fetchLists(held: readonly HeldList[]): Promise<ListUpdate[]> {
    const query = new URLSearchParams({ alt: 'proto' });
    for (const { name } of held) query.append('names', name);
    for (const { version } of held) if (version.length > 0) query.append('version', base64(version));
    return readHashLists(await this.#get(`/v5/hashLists:batchGet?${query}`, listTimeMaxMs, listBytesMax));
  }

  /**
   * Requests the full hashes behind four-byte prefixes, of which there are at most thirty. Nothing else of a URL ever
   * leaves the machine.
   */
  async findHashes(prefixes: readonly Uint8Array[]): Promise<HashAnswer> {
    const query = new URLSearchParams({ alt: 'proto' });
    for (const prefix of prefixes) query.append('hashPrefixes', base64(prefix));
    return readFoundHashes(await this.#get(`/v5/hashes:search?${query}`, hashTimeMaxMs, hashBytesMax));
  }

  /** Aborts all requests in flight. */
  close(): void {
    for (const abort of this.#inFlight) abort.abort();
  }

  async #get(path: string, timeMaxMs: number, bytesMax: number): Promise<Uint8Array> {
    const { server, key, clientVersion, clock } = this.#options;
    const abort = new AbortController();
    let isLate = false;
    const cancelTimer = clock.after(timeMaxMs, () => {
      isLate = true;
      abort.abort();
    });
    this.#inFlight.add(abort);
    try {
      const response = await fetch(`${server}${path}`, {
        headers: {
          Accept: 'application/x-protobuf',
          'User-Agent': `terse/${clientVersion}`,
          'X-Goog-Api-Key': key,
        },
        redirect: 'manual',
        signal: abort.signal,
      });
      return await bodyOf(response, bytesMax);
    } catch (error) {
      if (isLate) throw new SafeBrowsingFault('timeout', `no answer within ${timeMaxMs} ms`);
      if (error instanceof SafeBrowsingFault) throw error;
      // The message of a failed fetch may quote the address, which is known already but could one day carry more.
      throw new SafeBrowsingFault('unreachable', 'the server cannot be reached');
    } finally {
      cancelTimer();
      // The rest of an abandoned response must not keep arriving.
      abort.abort();
      this.#inFlight.delete(abort);
    }
  }
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

async function bodyOf(response: Response, bytesMax: number): Promise<Uint8Array> {
  if (response.status !== 200) throw new SafeBrowsingFault('status', `status ${response.status}`);
  const type = response.headers.get('content-type') ?? 'none';
  if (!/^application\/(?:x-)?protobuf(?:$|;)/i.test(type)) {
    throw new SafeBrowsingFault('content_type', `content type ${type.slice(0, 80)}`);
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > bytesMax) throw new SafeBrowsingFault('too_large', `more than ${bytesMax} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Field number and wire type of a field, as they precede it in a message. */
const varint = (field: number): number => field * 8;
const bytes = (field: number): number => field * 8 + 2;

/** Reads one message by its tags. Unknown fields are skipped, as the format intends. */
function readMessage(message: Uint8Array, fields: Readonly<Record<number, (reader: Reader) => void>>): void {
  const reader = Reader.create(message);
  try {
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      const read = fields[tag];
      if (read === undefined) reader.skipType(tag & 7, 0, tag >>> 3);
      else read(reader);
    }
  } catch (error) {
    throw error instanceof SafeBrowsingFault ? error : malformed('the answer is not protobuf');
  }
}

/** BatchGetHashListsResponse. */
export async function readHashLists(message: Uint8Array): Promise<ListUpdate[]> {
  const lists: Uint8Array[] = [];
  readMessage(message, { [bytes(1)]: reader => lists.push(reader.bytes()) });
  const updates: ListUpdate[] = [];
  for (const list of lists) updates.push(await readHashList(list));
  return updates;
}

async function readHashList(message: Uint8Array): Promise<ListUpdate> {
  let [name, isPartial, waitMs] = ['', false, 0];
  let version: Uint8Array = new Uint8Array();
  let checksum: Uint8Array | undefined;
  let additions: RiceDeltas | undefined;
  let removals: RiceDeltas | undefined;
  // The requested lists have four-byte prefixes; additions of any other length would be another list.
  const unexpected = (): never => {
    throw malformed('prefixes of an unexpected length');
  };
  readMessage(message, {
    [bytes(1)]: reader => (name = reader.string()),
    [bytes(2)]: reader => (version = Uint8Array.from(reader.bytes())),
    [varint(3)]: reader => (isPartial = reader.bool()),
    [bytes(4)]: reader => (additions = readRiceDeltas(reader.bytes())),
    [bytes(5)]: reader => (removals = readRiceDeltas(reader.bytes())),
    [bytes(6)]: reader => (waitMs = readDurationMs(reader.bytes())),
    [bytes(7)]: reader => (checksum = Uint8Array.from(reader.bytes())),
    [bytes(9)]: unexpected,
    [bytes(10)]: unexpected,
    [bytes(11)]: unexpected,
  });
  return {
    name,
    kind: isPartial ? 'partial' : 'full',
    removals: await decodeRice(removals, prefixesMax),
    additions: await decodeRice(additions, prefixesMax),
    version,
    checksum,
    waitMs,
  };
}

/** RiceDeltaEncoded32Bit. */
function readRiceDeltas(message: Uint8Array): RiceDeltas {
  let [firstValue, riceParameter, entriesCount] = [0, 0, 0];
  let encodedData: Uint8Array = new Uint8Array();
  readMessage(message, {
    [varint(1)]: reader => (firstValue = reader.uint32()),
    [varint(2)]: reader => (riceParameter = reader.int32()),
    [varint(3)]: reader => (entriesCount = reader.int32()),
    [bytes(4)]: reader => (encodedData = reader.bytes()),
  });
  return { firstValue, riceParameter, entriesCount, encodedData };
}

/** A google.protobuf.Duration; a negative one is invalid and counts as zero. */
function readDurationMs(message: Uint8Array): number {
  let [seconds, nanos] = [0, 0];
  readMessage(message, {
    [varint(1)]: reader => (seconds = Number(reader.int64().toString())),
    [varint(2)]: reader => (nanos = reader.int32()),
  });
  return Math.max(0, seconds * 1_000 + nanos / 1_000_000);
}

/** SearchHashesResponse. */
export function readFoundHashes(message: Uint8Array): HashAnswer {
  const found: FoundHash[] = [];
  let cacheMs = 0;
  readMessage(message, {
    [bytes(1)]: reader => found.push(...readFullHash(reader.bytes())),
    [bytes(2)]: reader => (cacheMs = readDurationMs(reader.bytes())),
  });
  return { found, cacheMs };
}

/** FullHash: one entry for each threat that is acted upon. */
function readFullHash(message: Uint8Array): FoundHash[] {
  let hash: Uint8Array = new Uint8Array();
  const found: Threat[] = [];
  readMessage(message, {
    [bytes(1)]: reader => (hash = Uint8Array.from(reader.bytes())),
    [bytes(2)]: reader => found.push(...readThreat(reader.bytes())),
  });
  if (hash.length !== sha256Bytes) throw malformed(`a full hash of ${hash.length} bytes`);
  return found.map(threat => ({ hash, threat }));
}

/**
 * FullHashDetail. A threat with an attribute is ignored: a canary must not be acted upon, a frame-only threat is about
 * frames inside pages, and a threat with an attribute that this version does not know must not be acted upon either.
 */
function readThreat(message: Uint8Array): Threat[] {
  let number = 0;
  const attributes: number[] = [];
  readMessage(message, {
    [varint(1)]: reader => (number = reader.int32()),
    // Packed together, or one field each.
    [bytes(2)]: reader => attributes.push(...reader.bytes()),
    [varint(2)]: reader => attributes.push(reader.int32()),
  });
  const threat = (threats as Readonly<Record<number, Threat>>)[number];
  return threat === undefined || attributes.length > 0 ? [] : [threat];
}
