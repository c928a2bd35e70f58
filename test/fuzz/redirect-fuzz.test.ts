/**
 * Sends arbitrary bytes to the redirect path. The server must answer with one of a few statuses or, without a complete
 * head, close the connection, must continue to serve all other clients, and must never redirect to a host that the
 * owner of the link did not choose. Requests that fail are added to the corpus.
 */
import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { callerOf } from '../kit/client.ts';
import { follow } from '../kit/follow.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { seedNote, testSeed } from '../kit/seed.ts';
import { startTerseProcess } from '../kit/terse-process.ts';
import { corpusOf, keep } from './corpus-files.ts';
import { exchangeRaw, headOf, type RawHead, type RawOutcome } from './raw-exchange.ts';

const mutations = scaled(1_000, 40_000);
const visitsPerQuestion = scaled(500, 20_000);

const terse = await startTerseProcess();
const call = callerOf(terse.url);
afterAll(() => terse.stop());

/** Destinations with every place where a query could go wrong. */
const destinations: Readonly<Record<string, string>> = {
  plain: 'https://plain.example/path?kept=1#top',
  bare: 'https://bare.example/',
  asked: 'https://asked.example/?',
  queried: 'https://queried.example/a?b=c',
  open: 'http://open.example:8080/a?b=c&',
  marked: 'https://marked.example/a#fragment?not=a-query',
};
for (const [customAlias, longUrl] of Object.entries(destinations)) {
  const body = { longUrl, customAlias, forwardQuery: customAlias !== 'plain' };
  expect((await call('POST', '/api/v1/links', { body })).status).toBe(201);
}

await call('POST', '/api/v1/links', { body: { longUrl: 'https://gone.example/', customAlias: 'gone' } });
await call('DELETE', '/api/v1/links/gone');

const statusesAllowed = [301, 302, 307, 308, 400, 404, 405, 410, 431, 505];
const hostsAllowed = Object.values(destinations).map(destination => new URL(destination).host);

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const locationOf = ({ headers }: RawHead): string | undefined =>
  headers.find(([name]) => name === 'location')?.[1];

/** A path of only slashes, perhaps with a query, is the front page, which exists. */
const frontPage = /^\S+ +\/+(?:[?#]\S*)? /;

function expectHarmless(outcome: RawOutcome, bytes: Uint8Array): RawHead | undefined {
  const head = headOf(outcome);
  if (head === undefined) {
    expect(outcome.text).toBe('');
    return undefined;
  }
  const isFrontPage = frontPage.test(Buffer.from(bytes).toString('latin1'));
  expect(isFrontPage ? [...statusesAllowed, 200] : statusesAllowed).toContain(head.status);
  expect(head.headers.filter(([name]) => name === 'set-cookie' || name === 'evil')).toEqual([]);
  const location = locationOf(head);
  expect(location !== undefined).toBe(head.status >= 300 && head.status < 400);
  if (location !== undefined) expect(hostsAllowed).toContain(new URL(location).host);
  return head;
}

/** A head that is complete is answered, whatever bytes are in its target. */
function expectAnswered(outcome: RawOutcome, bytes: Uint8Array): RawHead {
  const head = expectHarmless(outcome, bytes);
  expect(head).toBeDefined();
  return head!;
}

async function expectAllWell(): Promise<void> {
  expect(await follow(terse.url, 'plain')).toEqual({ status: 302, location: destinations.plain! });
}

const options = { seed: testSeed, endOnFailure: true } as const;

/** Runs a property over single exchanges, those of the corpus first, and adds one that fails to it. */
function overExchanges(
  corpus: string,
  requests: fc.Arbitrary<Uint8Array>,
  numRuns: number,
  check: (outcome: RawOutcome, bytes: Uint8Array) => void,
): Promise<void> {
  return fc.assert(
    fc.asyncProperty(requests, async bytes => {
      const outcome = await exchangeRaw(terse.url, bytes);
      try {
        expect(outcome.end).not.toBe('waiting');
        check(outcome, bytes);
        await expectAllWell();
      } catch (error) {
        const sent = JSON.stringify(Buffer.from(bytes).toString('latin1').slice(0, 2_000));
        const got = JSON.stringify(outcome.text.slice(0, 1_000));
        const path = keep(corpus, 'bug', bytes);
        throw new Error(
          `${(error as Error).message}\n\n${sent}\n→ ${outcome.end} ${got}\nkept as ${path}; ${seedNote}`,
        );
      }
    }),
    { ...options, numRuns, examples: corpusOf(corpus).map(({ bytes }): [Uint8Array] => [bytes]) },
  );
}

const requestFor = (target: string, method = 'GET'): string =>
  `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: test\r\nAccept: */*\r\nConnection: close\r\n\r\n`;

const wholeRequests = ['plain', 'queried', 'nothing', 'gone'].flatMap(code => [
  requestFor(`/${code}`),
  requestFor(`/${code}?a=b`),
  requestFor(`/${code}`, 'HEAD'),
  requestFor(`/${code}`, 'POST').replace('\r\n\r\n', '\r\nContent-Length: 2\r\n\r\n{}'),
  requestFor(`/${code}`).replace('Accept', 'Transfer-Encoding: chunked\r\nAccept').concat('0\r\n\r\n'),
]);

const fragments = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  ' HTTP/1.1',
  'HTTP/9.9',
  '%00',
  '%',
  '%2e%2e%2f',
  '?',
  '#',
  '\\',
  '//evil.example/',
  'http://evil.example/',
  '@evil.example',
  'Host: evil.example\r\n',
  'Content-Length: 5\r\n',
  'Content-Length: -1\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Expect: 100-continue\r\n',
  'Upgrade: h2c\r\n',
  'X: y\r\n folded\r\n',
  '\xff\xfe',
  'A'.repeat(20_000),
  `${'X: y\r\n'.repeat(300)}`,
];

type Mutation = (bytes: string) => string;
const place = fc.double({ min: 0, max: 1, noNaN: true });
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.tuple(place, fc.constantFrom(...fragments)).map<Mutation>(
    ([at, fragment]) =>
      text =>
        spliced(text, at, 0, fragment),
  ),
  fc.tuple(place, fc.nat(8)).map<Mutation>(
    ([at, count]) =>
      text =>
        spliced(text, at, count, ''),
  ),
  fc.tuple(place, fc.nat(255)).map<Mutation>(
    ([at, byte]) =>
      text =>
        spliced(text, at, 1, String.fromCharCode(byte)),
  ),
  fc.tuple(place, fc.nat(40)).map<Mutation>(([at, count]) => text => {
    const start = Math.floor(at * text.length);
    return spliced(text, at, 0, text.slice(start, start + count));
  }),
);

function spliced(text: string, at: number, removed: number, inserted: string): string {
  const position = Math.floor(at * text.length);
  return text.slice(0, position) + inserted + text.slice(position + removed);
}

const mutated = fc
  .tuple(fc.constantFrom(...wholeRequests), fc.array(mutation, { minLength: 1, maxLength: 3 }))
  // Two more line ends, so that a request that lost its own is still complete.
  .map(([request, changes]) => latin1(`${changes.reduce((text, change) => change(text), request)}\r\n\r\n`));

test(
  'requests with broken bytes get a refusal, the right answer or nothing, and hurt nobody else',
  () => overExchanges('redirect-mutated', mutated, mutations, expectHarmless),
  heavyTestMaxMs,
);

/** With or without the end of a head: without, the server waits for the rest until the client closes. */
const noise = fc
  .tuple(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.constantFrom('', '\r\n', '\r\n\r\n'))
  .map(([bytes, end]) => Buffer.concat([bytes, latin1(end)]));

test(
  'bytes that are no HTTP at all get nothing but a refusal',
  () =>
    overExchanges('redirect-noise', noise, scaled(500, 20_000), (outcome, bytes) => {
      expect([undefined, 400, 431, 505]).toContain(expectHarmless(outcome, bytes)?.status);
    }),
  heavyTestMaxMs,
);

/** Bytes that may stand in a request line: all but those that end the target. */
const lineByte = fc
  .integer({ min: 1, max: 255 })
  .filter(byte => !' \r\n'.includes(String.fromCharCode(byte)));
const anyBytes = fc.string({ unit: lineByte.map(byte => String.fromCharCode(byte)), maxLength: 40 });
const misleading = fc.constantFrom(
  '@evil.example',
  '//evil.example',
  '/../..//evil.example',
  '\\\\evil.example',
  ':80@evil.example',
  '#@evil.example',
  '#',
  '?',
  '&',
  '&&=',
  '%0d%0aLocation:%20https://evil.example',
  '%0D%0ASet-Cookie:%20a=b',
  '%00',
  '%',
  '%zz',
  '%ff%fe',
  '\t',
  '\x0b',
  '\x7f',
  '\xe2\x80\xae',
  '\xff',
  '.evil.example',
  'url=https://evil.example/',
  'x'.repeat(3_000),
);
const queryText = fc.array(fc.oneof(misleading, anyBytes), { maxLength: 4 }).map(parts => parts.join(''));

test(
  'whatever the query, a link that forwards it keeps its scheme, host and path',
  async () => {
    const forwarding = Object.keys(destinations).filter(code => code !== 'plain');
    const visits = fc.record({ code: fc.constantFrom(...forwarding), query: queryText });
    const seen = new Set<number>();
    await overExchanges(
      'redirect-queries',
      visits.map(({ code, query }) => latin1(requestFor(`/${code}?${query}`))),
      visitsPerQuestion,
      (outcome, bytes) => {
        const head = expectAnswered(outcome, bytes);
        seen.add(head.status);
        if (head.status !== 302) return;
        const code = /^GET \/(\w+)\?/.exec(Buffer.from(bytes).toString('latin1'))![1]!;
        const location = locationOf(head)!;
        expect(head.headers.filter(([name]) => name === 'location')).toHaveLength(1);
        expect(location).toMatch(/^[!-~]*$/);
        const chosen = new URL(destinations[code]!);
        const followed = new URL(location);
        for (const part of ['protocol', 'host', 'username', 'password', 'pathname', 'hash'] as const) {
          expect(`${part} ${followed[part]}`).toBe(`${part} ${chosen[part]}`);
        }
        expect(location).toStartWith(destinations[code]!.replace(/#.*/, ''));
      },
    );
    expect(seen).toContain(302);
  },
  heavyTestMaxMs,
);

const pathText = fc.oneof(
  fc.array(fc.oneof(misleading, anyBytes), { minLength: 1, maxLength: 3 }).map(parts => parts.join('')),
  fc
    .array(fc.nat(255), { maxLength: 12 })
    .map(bytes => bytes.map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')),
  fc.stringMatching(/^[0-9A-Za-z_.~+%-]{1,80}$/),
);

test(
  'a path that is no link of ours gets 404 or is refused, however it is written',
  () =>
    overExchanges(
      'redirect-paths',
      // An empty path would be the front page.
      pathText.filter(path => /^[^?#]/.test(path)).map(path => latin1(requestFor(`/${path}`))),
      visitsPerQuestion,
      (outcome, bytes) => {
        expect([400, 404, 431, 505]).toContain(expectAnswered(outcome, bytes).status);
      },
    ),
  heavyTestMaxMs,
);

test('a code in percent-escapes is the same link, and nothing else is', async () => {
  const escaped = [...'plain'].map(letter => `%${letter.charCodeAt(0).toString(16)}`).join('');
  const status = async (target: string) =>
    headOf(await exchangeRaw(terse.url, latin1(requestFor(target))))?.status;
  expect(await status(`/${escaped}`)).toBe(302);
  for (const target of [
    '/Plain',
    '/plain/',
    '//plain',
    '/plain%00',
    '/plain%20',
    '/pl%61in%2f',
    '/plain;a',
  ]) {
    expect(`${target} ${await status(target)}`).toBe(`${target} 404`);
  }
});
