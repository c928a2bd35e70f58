/**
 * Counts the clicks that an edge cache answered by itself, from its log. A click is numbered by its place among the
 * clicks of the log, and the log is identified by its first line. So a log that is read again, has grown, was renamed,
 * or comes from another machine gives each click the same producer and number as before, and every number is counted
 * once.
 *
 * Only whole lines count: the end of a log may be half a line that is still being written.
 */

import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { codePattern } from '../links/link.ts';
import type { ClickBatch } from './click.ts';
import { clickTimeMin } from './frame.ts';
import { type ClickLog, type LogWriter, readBatches } from './log.ts';
import { type DescribedLink, Interner, NewLinkList, queryLengthMax } from './new-links.ts';
import { PartitionNumbers, partitionOf } from './partition-numbers.ts';
import type { RawBatch } from './recorder.ts';
import { visitFlag } from './steps/visit.ts';

export interface EdgeImportOptions {
  /** The bytes of the log, in order. */
  readonly log: AsyncIterable<Uint8Array>;
  /** Opens the sink for the clicks of this log. */
  readonly open: (producer: string) => ImportSink | Promise<ImportSink>;
  /** The links of these codes with their owners; deleted links are left out. */
  readonly linksOf: (codes: readonly string[]) => Promise<ReadonlyMap<string, DescribedLink>>;
  readonly enrich: (raw: RawBatch) => ClickBatch;
  readonly clock: Clock;
}

export interface ImportSink {
  /** Clicks of this log, from its beginning, that are in the stream already. */
  readonly stored: number;
  /** Skips one of those; if partitions are numbered separately, it still takes a number of its partition. */
  pass(code: string): void;
  /** Resolves when the batch is in the stream and its position is recorded. */
  append(batch: ClickBatch): Promise<void>;
  close(): Promise<void>;
}

export interface EdgeImportReport {
  /** Clicks that are in the stream now and were not before. */
  readonly imported: number;
  /** Clicks that an earlier import already stored. */
  readonly known: number;
  /** Visits that Terse answered itself. */
  readonly seen: number;
  readonly other: number;
  readonly unreadable: number;
}

const batchMax = 8_192;
const readBytes = 1024 * 1024;
/** Each click of a batch may have a different string, and there is the empty one. */
const stringsMax = batchMax + 1;
const lineBytesMax = 32_768;
const agentCharsMax = 512;
const referrerCharsMax = 1_024;
const lineFeed = 0x0a;

export async function importEdgeLog(options: EdgeImportOptions): Promise<EdgeImportReport> {
  const counts = { imported: 0, known: 0, seen: 0, other: 0, unreadable: 0 };
  let sink: ImportSink | undefined;
  let visits: EdgeVisit[] = [];
  const flush = async (): Promise<void> => {
    if (sink === undefined || visits.length === 0) return;
    const links = await options.linksOf([...new Set(visits.map(({ code }) => code))]);
    const first = counts.known + counts.imported + 1;
    await sink.append(options.enrich(rawBatchOf(visits, links, first, options.clock.now())));
    counts.imported += visits.length;
    visits = [];
  };
  try {
    for await (const line of wholeLines(options.log)) {
      sink ??= await options.open(producerOf(line));
      const parsed = parseEdgeLine(line);
      if (parsed.kind !== 'click') counts[parsed.kind] += 1;
      else if (counts.known < sink.stored) {
        counts.known += 1;
        sink.pass(parsed.visit.code);
      } else if (visits.push(parsed.visit) === batchMax) await flush();
    }
    await flush();
    return counts;
  } finally {
    await sink?.close();
  }
}

/** The same for a log whatever its path and name. */
const producerOf = (firstLine: string): string =>
  `edge-${createHash('sha256').update(firstLine).digest('hex').slice(0, 20)}`;

/** A line that is too long to be valid is truncated, at the same byte however the bytes arrive. */
async function* wholeLines(log: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let begun = Buffer.alloc(0);
  const beginningOf = (rest: Buffer): Buffer<ArrayBuffer> =>
    Buffer.concat([begun, rest.subarray(0, lineBytesMax)]).subarray(0, lineBytesMax);
  for await (const chunk of log) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, from)) {
      yield beginningOf(bytes.subarray(from, end)).toString('utf8');
      begun = Buffer.alloc(0);
      from = end + 1;
    }
    begun = beginningOf(bytes.subarray(from));
  }
}

/** Each batch describes its visitors and links in full, so that it does not depend on the batches before it. */
function rawBatchOf(
  visits: readonly EdgeVisit[],
  links: ReadonlyMap<string, DescribedLink>,
  firstSequence: number,
  now: number,
): RawBatch {
  const agents = new Interner(agentCharsMax, stringsMax);
  const referrers = new Interner(referrerCharsMax, stringsMax);
  const queries = new Interner(queryLengthMax, stringsMax);
  const linkNumbers = new Map<string, number>();
  const visitorNumbers = new Map<string, number>();
  const visitorAgents: number[] = [];
  const addresses: string[] = [];
  const numberOf = (numbers: Map<string, number>, name: string, describe: () => void): number => {
    const known = numbers.get(name);
    if (known !== undefined) return known;
    describe();
    numbers.set(name, numbers.size);
    return numbers.size - 1;
  };
  const newLinks = new NewLinkList();
  const link = Uint32Array.from(visits, ({ code }) =>
    numberOf(linkNumbers, code, () => newLinks.add(links.get(code) ?? { code, ownerId: null, tags: [] })),
  );
  const visitor = Uint32Array.from(visits, ({ address, agent }) =>
    numberOf(visitorNumbers, `${address}\n${agent}`, () => {
      addresses.push(address);
      visitorAgents.push(agents.numberOf(agent));
    }),
  );
  return {
    firstSequence,
    // An edge whose clock is ahead must not add clicks in the future.
    at: Float64Array.from(visits, ({ at }) => Math.min(at, now)),
    flags: Uint8Array.from(visits, ({ isHead }) => (isHead ? visitFlag.head : 0)),
    link,
    visitor,
    referrer: Uint32Array.from(visits, ({ referrer }) => referrers.numberOf(referrer)),
    query: Uint32Array.from(visits, ({ query }) => queries.numberOf(query)),
    forgetStrings: true,
    newLinks: newLinks.take(),
    newAgents: agents.takeFresh(),
    newReferrers: referrers.takeFresh(),
    // The log has no languages.
    newLanguages: [''],
    newQueries: queries.takeFresh(),
    newVisitors: {
      addresses: addresses.join('\n'),
      agents: Uint32Array.from(visitorAgents),
      languages: new Uint32Array(visitorAgents.length),
    },
  };
}

/**
 * A line of an edge cache's log. One format for all caches, which each can be configured to write: nine fields between
 * tabs.
 *
 *   time       seconds since 1970, with a fraction
 *   id         of the request, unique among all edges
 *   status     of the answer
 *   cache      what the cache did: HIT, STALE and UPDATING are its own answers, of which Terse knows nothing
 *   method, path, address, user agent, referrer
 *
 * `-` is an empty field; `\xNN`, `\t`, `\"` and the like are escapes, as nginx and Varnish write them.
 *
 * Invariant: the kind of a line depends on the line alone. Clicks of a log are numbered by counting its lines, and a
 * log that is read again must give every click the same number.
 */
export interface EdgeVisit {
  readonly at: number;
  readonly code: string;
  readonly isHead: boolean;
  readonly address: string;
  readonly agent: string;
  readonly referrer: string;
  /** Without the question mark; empty for none. */
  readonly query: string;
}

/**
 * `click`: only the edge saw it. `seen`: Terse answered it and has counted it. `other`: it is not a followed link.
 * `unreadable`: it is not a line of this format.
 */
export type EdgeLine =
  | { readonly kind: 'click'; readonly visit: EdgeVisit }
  | { readonly kind: 'seen' | 'other' | 'unreadable' };

const fieldCount = 9;
const ownAnswer = /^(?:hit|stale|updating)\b/i;
const redirectStatus = /^30[1278]$/;
const seconds = /^\d{9,10}(?:\.\d{1,9})?$/;
const [seen, other, unreadable] = [{ kind: 'seen' }, { kind: 'other' }, { kind: 'unreadable' }] as const;

export function parseEdgeLine(line: string): EdgeLine {
  const fields = line.split('\t');
  const [time, id, status, cache, method, path] = fields as [string, string, string, string, string, string];
  if (fields.length !== fieldCount || !seconds.test(time) || id === '' || !/^\d{3}$/.test(status))
    return unreadable;
  const code = codeIn(path);
  const isVisit = redirectStatus.test(status) && (method === 'GET' || method === 'HEAD');
  if (!isVisit || code === undefined) return other;
  if (!ownAnswer.test(cache)) return seen;
  const [address, agent, referrer] = fields.slice(-3).map(textOf) as [string, string, string];
  const at = Math.floor(Number(time) * 1_000);
  if (isIP(address) === 0 || at < clickTimeMin) return unreadable;
  const isHead = method === 'HEAD';
  return { kind: 'click', visit: { at, code, isHead, address, agent, referrer, query: queryIn(path) } };
}

/** The code without the query. An escape is another spelling of a character, or one that no code has. */
function codeIn(path: string): string | undefined {
  const [bare = ''] = path.split('?', 1);
  if (!bare.startsWith('/')) return undefined;
  try {
    const code = decodeURIComponent(bare.slice(1));
    return codePattern.test(code) ? code : undefined;
  } catch {
    return undefined;
  }
}

function queryIn(path: string): string {
  const queryAt = path.indexOf('?');
  return queryAt === -1 ? '' : textOf(path.slice(queryAt + 1));
}

const escapes: Readonly<Record<string, number>> = { n: 0x0a, r: 0x0d, t: 0x09 };

function textOf(field: string): string {
  if (field === '-') return '';
  if (!field.includes('\\')) return field;
  // Escapes are bytes, and several of them may be one character.
  const bytes: number[] = [];
  for (const [part, hex, letter] of field.matchAll(/\\x([0-9A-Fa-f]{2})|\\(.)|[^\\]+|\\$/g)) {
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else if (letter !== undefined) bytes.push(escapes[letter] ?? letter.charCodeAt(0) & 0xff);
    else bytes.push(...Buffer.from(part));
  }
  return Buffer.from(bytes).toString('utf8');
}

export interface ImportTarget {
  readonly writer: LogWriter;
  readonly producer: string;
  /** How many clicks of the log are stored, recorded for when its clicks are no longer kept. */
  readonly stored: { read(): number | undefined; write(stored: number): void };
  /** The newest number of this producer in the click log, if known. */
  readonly newestInLog?: number;
  /** How many partitions are numbered separately, in a log that producers share. */
  readonly partitions?: number;
}

/**
 * Opens the sink for the clicks of an edge's log. If partitions are numbered separately, a click's number depends on
 * the clicks before it, so those that an earlier run stored are numbered again but not sent. A message that was sent
 * twice, because of a crash before that was recorded, is counted once by its numbers.
 */
export function openImport({
  writer,
  producer,
  stored,
  newestInLog = 0,
  partitions,
}: ImportTarget): ImportSink {
  const given = new Float64Array(partitions ?? 0);
  const numbers = new PartitionNumbers(given);
  return {
    stored: Math.max(stored.read() ?? 0, newestInLog),
    pass(code) {
      if (partitions !== undefined) given[partitionOf(code, partitions)]! += 1;
    },
    async append(batch) {
      await writer.append(partitions === undefined ? batch : numbers.number(batch), producer);
      stored.write(batch.firstSequence + batch.at.length - 1);
    },
    close: () => writer.close(),
  };
}

/**
 * The newest number in the log itself: a crash may have come before it was recorded, and nothing may be stored twice.
 */
export async function newestIn(log: ClickLog, producer: string): Promise<number> {
  let newest = 0;
  for (const partition of await log.partitions()) {
    if (partition.producer !== producer) continue;
    for (let offset = 0; ; ) {
      const batches = await readBatches(log, partition.name, offset, readBytes);
      for (const { batch } of batches) newest = Math.max(newest, batch.firstSequence + batch.at.length - 1);
      const end = batches.at(-1)?.to;
      if (end === undefined) break;
      offset = end;
    }
  }
  return newest;
}
