import { beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ManualClock } from '../base/clock.ts';
import type { ClickBatch } from './click.ts';
import { type EdgeImportReport, type ImportSink, importEdgeLog, parseEdgeLine } from './edge-import.ts';
import { unpackTexts } from './packed-texts.ts';
import type { RawBatch } from './recorder.ts';

const clock = new ManualClock(Date.UTC(2026, 10, 16));

interface Stored {
  readonly number: number;
  readonly code: string;
  readonly ownerId: string | null;
  readonly address: string;
  readonly agent: string;
  readonly referrer: string;
  readonly at: number;
  readonly flags: number;
  readonly query: string;
  readonly labels: string;
}

describe('the import of an edge’s log', () => {
  /** The clicks of each log in the stream, by producer. */
  let stream: Map<string, Stored[]>;
  let passed: string[];
  let closed: number;

  beforeEach(() => {
    [stream, passed, closed] = [new Map(), [], 0];
  });

  function open(producer: string): ImportSink {
    const stored = stream.get(producer) ?? [];
    stream.set(producer, stored);
    return {
      stored: stored.length,
      pass: code => void passed.push(code),
      async append(batch) {
        stored.push(...clicksOf(batch as unknown as RawBatch));
      },
      async close() {
        closed += 1;
      },
    };
  }
  const importOf = (chunks: readonly (string | Uint8Array)[]): Promise<EdgeImportReport> =>
    importEdgeLog({
      log: (async function* () {
        for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      })(),
      open,
      linksOf: async codes =>
        new Map(
          codes
            .filter(code => code !== 'gone')
            .map(code => [
              code,
              { code, ownerId: 'me', tags: [], longUrl: `https://e.com/?utm_term=${code}` },
            ]),
        ),
      // The raw batch itself, which the sink above takes apart.
      enrich: raw => raw as unknown as ClickBatch,
      clock,
    });
  const all = (): Stored[] => [...stream.values()].flat();

  test('imports every click of the log with its visitor, and counts the other lines', async () => {
    const log = [
      line({ code: 'one', address: '192.0.2.1', agent: 'A', referrer: 'https://example.com/' }),
      line({ code: 'two', cache: 'MISS' }),
      line({ code: 'gone', method: 'HEAD', address: '192.0.2.2', agent: 'A' }),
      line({ code: 'one', status: 404 }),
      'what is this\n',
      line({ code: 'one', address: '192.0.2.1', agent: 'A', at: clock.now() + 60_000 }),
    ].join('');
    expect(await importOf([log])).toEqual({ imported: 3, known: 0, seen: 1, other: 1, unreadable: 1 });
    expect(all()).toMatchObject([
      { number: 1, code: 'one', ownerId: 'me', address: '192.0.2.1', agent: 'A', flags: 0 },
      { number: 2, code: 'gone', ownerId: null, address: '192.0.2.2', agent: 'A', flags: 1 },
      { number: 3, code: 'one', address: '192.0.2.1', at: clock.now() },
    ]);
    expect(all()[0]?.referrer).toBe('https://example.com/');
    expect(all().map(({ labels }) => labels)).toEqual([
      '{"tags":[],"query":"utm_term=one"}',
      '',
      '{"tags":[],"query":"utm_term=one"}',
    ]);
    expect(closed).toBe(1);
  });

  test('imports the query with which a link was followed', async () => {
    await importOf([line({ code: 'one?utm_source=a&qr' }), line({ code: 'one' }), line({ code: 'one?x=1' })]);
    expect(all().map(({ code, query }) => [code, query])).toEqual([
      ['one', 'utm_source=a&qr'],
      ['one', ''],
      ['one', 'x=1'],
    ]);
  });

  test('imports nothing twice, and of a log that has grown only the new clicks', async () => {
    const begun = logOf(3);
    await importOf([begun]);
    expect(await importOf([begun])).toMatchObject({ imported: 0, known: 3 });
    expect(await importOf([begun + logOf(2, 3)])).toMatchObject({ imported: 2, known: 3 });
    expect(all().map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
    expect(passed).toHaveLength(6);
    expect(stream.size).toBe(1);
  });

  test('leaves half a line at the end for the next import', async () => {
    const whole = logOf(2);
    expect(await importOf([whole.slice(0, -5)])).toMatchObject({ imported: 1, unreadable: 0 });
    expect(await importOf([whole])).toMatchObject({ imported: 1, known: 1 });
  });

  test('an empty log, or half of its first line, is nothing', async () => {
    for (const log of ['', 'abc'])
      expect(await importOf([log])).toMatchObject({ imported: 0, unreadable: 0 });
    expect(stream.size).toBe(0);
  });

  test('two logs are two, even when they are of the same visits', async () => {
    await importOf([line({ id: 'first edge' })]);
    await importOf([line({ id: 'second edge' })]);
    expect(stream.size).toBe(2);
  });

  test('goes in batches that follow each other, however large the log is', async () => {
    expect(await importOf([logOf(20_000)])).toMatchObject({ imported: 20_000 });
    expect(all().map(({ number }) => number)).toEqual(
      Array.from({ length: 20_000 }, (_, index) => index + 1),
    );
  });

  test('an endless line costs no memory and hides nothing after it', async () => {
    const piece = 'x'.repeat(100_000);
    const report = await importOf([line({}), piece, piece, `${piece}\n`, line({ id: 'last' })]);
    expect(report).toMatchObject({ imported: 2, unreadable: 1 });
  });

  test('how the bytes arrive makes no difference', async () => {
    const long = line({ code: `one?${'x'.repeat(40_000)}` });
    const whole = Buffer.from(logOf(20) + long + line({ agent: 'é🎈' }));
    const report = await importOf([whole]);
    const expected = all();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(whole.length), { maxLength: 8 }), async cuts => {
        stream.clear();
        const ends = [0, ...cuts.sort((a, b) => a - b), whole.length];
        const pieces = ends.slice(1).map((end, index) => whole.subarray(ends[index], end));
        expect(await importOf(pieces)).toEqual(report);
        expect(all()).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });
});

interface LineFields {
  readonly id?: string;
  readonly at?: number;
  readonly status?: number;
  readonly cache?: string;
  readonly method?: string;
  readonly code?: string;
  readonly address?: string;
  readonly agent?: string;
  readonly referrer?: string;
}

function line(given: LineFields): string {
  const { id = 'id', at = clock.now() - 1_000, status = 302, cache = 'HIT', method = 'GET' } = given;
  const { code = 'one', address = '192.0.2.1', agent = 'A', referrer = '-' } = given;
  return `${[at / 1_000, id, status, cache, method, `/${code}`, address, agent, referrer].join('\t')}\n`;
}

const logOf = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, index) => line({ id: `id-${from + index}` })).join('');

function clicksOf(raw: RawBatch): Stored[] {
  const addresses = raw.newVisitors.addresses.split('\n');
  const codes = unpackTexts(raw.newLinks.codes);
  return Array.from(raw.at, (at, index) => ({
    number: raw.firstSequence + index,
    code: codes[raw.link[index]!]!,
    ownerId: raw.newLinks.newOwners[raw.newLinks.owners[raw.link[index]!] ?? 0] || null,
    labels: raw.newLinks.newLabels[raw.newLinks.labels[raw.link[index]!] ?? 0]!,
    query: raw.newQueries[raw.query[index]!]!,
    address: addresses[raw.visitor[index]!]!,
    agent: raw.newAgents[raw.newVisitors.agents[raw.visitor[index]!]!]!,
    referrer: raw.newReferrers[raw.referrer[index]!]!,
    at,
    flags: raw.flags[index]!,
  }));
}

const fields = {
  time: '1763269200.1239',
  id: 'a1b2',
  status: '302',
  cache: 'HIT',
  method: 'GET',
  path: '/abc',
  address: '192.0.2.7',
  agent: 'Mozilla/5.0',
  referrer: '-',
};
const lineOf = (changed: Partial<typeof fields> = {}): string =>
  Object.values({ ...fields, ...changed }).join('\t');

const visitIn = (changed: Partial<typeof fields>) => {
  const parsed = parseEdgeLine(lineOf(changed));
  if (parsed.kind !== 'click') throw new Error(`it is ${parsed.kind}`);
  return parsed.visit;
};

describe('a line of an edge’s log', () => {
  test('of a redirect that the cache had is a click', () => {
    expect(parseEdgeLine(lineOf())).toEqual({
      kind: 'click',
      visit: {
        at: 1_763_269_200_123,
        code: 'abc',
        isHead: false,
        address: '192.0.2.7',
        agent: 'Mozilla/5.0',
        referrer: '',
        query: '',
      },
    });
    expect(visitIn({ time: '1763269200', method: 'HEAD', address: '2001:db8::1' })).toMatchObject({
      at: 1_763_269_200_000,
      isHead: true,
      address: '2001:db8::1',
    });
  });

  test.each(['hit', 'Hit', 'HIT', 'HIT-CLUSTER', 'STALE', 'UPDATING'])(
    '%s is the cache’s own answer',
    cache => {
      expect(parseEdgeLine(lineOf({ cache })).kind).toBe('click');
    },
  );

  test.each(['miss', 'MISS', 'pass', 'EXPIRED', 'BYPASS', 'REVALIDATED', 'RefreshHit', 'hitmiss', '-'])(
    '%s was answered by Terse, which has counted it',
    cache => {
      expect(parseEdgeLine(lineOf({ cache })).kind).toBe('seen');
    },
  );

  test.each<Partial<typeof fields>>([
    { status: '200' },
    { status: '304' },
    { status: '410' },
    { method: 'PURGE' },
    { path: '/' },
    { path: '/api/v1/links' },
    { path: '/abc+' },
    { path: `/${'a'.repeat(65)}` },
    { path: '/%' },
    { path: '*' },
  ])('%j is not a followed link', changed => {
    expect(parseEdgeLine(lineOf(changed)).kind).toBe('other');
  });

  test.each([
    '',
    'GET /abc HTTP/1.1',
    lineOf({ time: '16/Nov/2026:05:00:00 +0000' }),
    lineOf({ time: '946684799.999' }),
    lineOf({ id: '' }),
    lineOf({ status: '-' }),
    lineOf({ address: 'example.com' }),
    `${lineOf()}\tmore`,
    lineOf({ path: '/abc\tmore' }),
    lineOf().slice(0, 20),
  ])('%j cannot be read', line => {
    expect(parseEdgeLine(line).kind).toBe('unreadable');
  });

  test('a query and another spelling of the path are the same link', () => {
    expect(visitIn({ path: '/abc?utm_source=x\\x22y' })).toMatchObject({
      code: 'abc',
      query: 'utm_source=x"y',
    });
    expect(visitIn({ path: '/%61bc' }).code).toBe('abc');
  });

  test('escapes become what they stand for, as nginx and Varnish write them', () => {
    expect(visitIn({ agent: 'a \\x22quoted\\x22 \\xF0\\x9F\\x8E\\x88' }).agent).toBe('a "quoted" 🎈');
    expect(visitIn({ referrer: 'https://example.com/\\"a\\"\\\\b\\tc' }).referrer).toBe(
      'https://example.com/"a"\\b\tc',
    );
    expect(visitIn({ agent: 'ends in \\' }).agent).toBe('ends in \\');
  });

  test('no line stops the reader, and the kind of a line never changes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.array(fc.string(), { minLength: 9, maxLength: 9 })), given => {
        const line = typeof given === 'string' ? given : given.join('\t');
        expect(parseEdgeLine(line)).toEqual(parseEdgeLine(line));
      }),
    );
  });
});
