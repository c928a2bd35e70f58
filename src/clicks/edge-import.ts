/**
 * Counts what an edge cache answered by itself, from its log. A click is numbered by its place among the clicks of the
 * log, and the log is known by its first line: so a log that is read again, has grown, was renamed, or comes from another
 * machine gives each click the name and number it had before, and the counters take every number once.
 *
 * Only whole lines count: the end of a log may be half a line that is still being written.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { ClickBatch, LinkEntry } from './batch.ts';
import { type EdgeVisit, parseEdgeLine } from './edge-log.ts';
import { Interner } from './interner.ts';
import type { RawBatch } from './raw-batch.ts';
import { visitFlag } from './steps/visit-kind.ts';

export interface EdgeImportOptions {
  /** The bytes of the log, in order. */
  readonly log: AsyncIterable<Uint8Array>;
  /** Opens where the clicks of this log go. */
  readonly open: (producer: string) => ImportSink | Promise<ImportSink>;
  /** Whose links they are; those that are gone are left out. */
  readonly linksOf: (codes: readonly string[]) => Promise<ReadonlyMap<string, LinkEntry>>;
  readonly enrich: (raw: RawBatch) => ClickBatch;
  readonly clock: Clock;
}

export interface ImportSink {
  /** Clicks of this log, from its beginning, that are in the stream already. */
  readonly stored: number;
  /** One of those; where partitions are numbered apart its place has to be counted. */
  pass(code: string): void;
  /** Resolves when the batch is in the stream and that is remembered. */
  append(batch: ClickBatch): Promise<void>;
  close(): Promise<void>;
}

export interface EdgeImportReport {
  /** Clicks that are in the stream now and were not before. */
  readonly imported: number;
  /** Clicks that an earlier import brought. */
  readonly known: number;
  /** Visits that Terse answered itself. */
  readonly seen: number;
  readonly other: number;
  readonly unreadable: number;
}

const batchMax = 8_192;
/** Every click of a batch may have its own, and there is the empty one. */
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

/** The same for a log wherever it lies and however it is called. */
const producerOf = (firstLine: string): string =>
  `edge-${createHash('sha256').update(firstLine).digest('hex').slice(0, 20)}`;

/** Of a line that is too long to be one of ours the beginning is enough, and is the same however the bytes arrive. */
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

/** Each batch describes its visitors and links anew, so that it can be made without the ones before it. */
function rawBatchOf(
  visits: readonly EdgeVisit[],
  links: ReadonlyMap<string, LinkEntry>,
  firstSequence: number,
  now: number,
): RawBatch {
  const agents = new Interner(agentCharsMax, stringsMax);
  const referrers = new Interner(referrerCharsMax, stringsMax);
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
  const newLinks: LinkEntry[] = [];
  const link = Uint32Array.from(visits, ({ code }) =>
    numberOf(linkNumbers, code, () => newLinks.push(links.get(code) ?? { code, ownerId: null, tags: [] })),
  );
  const visitor = Uint32Array.from(visits, ({ address, agent }) =>
    numberOf(visitorNumbers, `${address}\n${agent}`, () => {
      addresses.push(address);
      visitorAgents.push(agents.numberOf(agent));
    }),
  );
  return {
    firstSequence,
    // An edge whose clock is ahead must not count clicks that are yet to come.
    at: Float64Array.from(visits, ({ at }) => Math.min(at, now)),
    flags: Uint8Array.from(visits, ({ isHead }) => (isHead ? visitFlag.head : 0)),
    link,
    visitor,
    referrer: Uint32Array.from(visits, ({ referrer }) => referrers.numberOf(referrer)),
    forgetStrings: true,
    newLinks,
    newAgents: agents.takeFresh(),
    newReferrers: referrers.takeFresh(),
    newVisitors: { addresses: addresses.join('\n'), agents: Uint32Array.from(visitorAgents) },
  };
}
