/**
 * http/wire behind real proxies that share their connections to it among all clients: every request that it sees is one
 * that the proxy sent. The proxy gives each of them an id, so a request without one was smuggled.
 */
import { expect, test } from 'bun:test';
import { Problem } from '../../src/base/errors.ts';
import { type Answer, answerOf } from '../../src/http/wire/answer.ts';
import { startFakeWire } from '../../src/http/wire/fake-wire.ts';
import type { WireRequest } from '../../src/http/wire/wire-request.ts';
import { announcedRandom } from '../kit/announced-random.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { startHttpProxy } from '../kit/engines/http-proxies.ts';
import { RawConnection } from '../kit/raw-http.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { seedNote } from '../kit/seed.ts';
import { randomPieces } from '../kit/wire-outcome.ts';
import { type ProxyName, recordedResults, recordResults } from './results.ts';
import { type SmugglingCase, smugglingCases } from './smuggling-cases.ts';

const randomCases = scaled(200, 5_000);
const clientsAtOnce = 48;
const piecesMax = 4;

/** A server that remembers what it saw, and whose answers say whose they are. */
class RecordingServer {
  readonly seen: { readonly id: string | null; readonly mark: string | null; readonly what: string }[] = [];
  rejected = 0;
  readonly wire = startFakeWire({
    connectionsMax: 1_000,
    sharePercent: 100,
    handle: request => this.#answer(request),
    refuse: ({ status, detail }) => {
      this.rejected += 1;
      return answerOf(status, { 'X-Answers': 'none' }, detail);
    },
  });

  async #answer(request: WireRequest): Promise<Answer> {
    const { method, path, headers, body } = request;
    const mark = headers.get('x-mark');
    this.seen.push({ id: headers.get('x-forwarded-id'), mark, what: `${method} ${path.slice(0, 100)}` });
    try {
      // Some handlers answer without reading the body, and the rest of it must not become a request.
      if (!mark?.endsWith('0')) await new Response(body).bytes();
    } catch (error) {
      // Otherwise the proxy has given up.
      if (error instanceof Problem) this.rejected += 1;
    }
    // What follows the first word was folded or repeated by the client.
    const answered = /^\w+/.exec(mark ?? '')?.[0] ?? 'none';
    // As the real server does: nothing may turn a connection into a tunnel.
    return answerOf(method === 'CONNECT' ? 405 : 200, { 'X-Answers': answered }, '');
  }
}

interface Answers {
  /** Of the answers that came from the server. */
  readonly marks: readonly string[];
  /** Whether the proxy gave up waiting for the server. */
  readonly hasTimedOut: boolean;
}

/** Sends a case in pieces, and returns what its client got. */
async function answersTo(url: string, pieces: readonly Uint8Array[]): Promise<Answers> {
  const client = await RawConnection.open(url);
  for (const piece of pieces) {
    client.write(piece);
    await new Promise(resolve => setImmediate(resolve));
  }
  const text = await client.textUntilClosed();
  return {
    marks: [...text.matchAll(/^x-answers: (\w+)\r$/gim)].map(([, mark]) => mark!),
    hasTimedOut: /^HTTP\/1\.[01] 50[34] /m.test(text),
  };
}

/** The request of a harmless client, which would suffer if another client's request had no proper end. */
function probe(index: number): SmugglingCase {
  const mark = `p${index}`;
  return {
    mark,
    bytes: Buffer.from(`GET /${mark} HTTP/1.1\r\nHost: h\r\nX-Mark: ${mark}\r\nConnection: close\r\n\r\n`),
  };
}

async function inParallel<Item>(
  items: readonly Item[],
  count: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: count }, worker));
}

const proxyNames: readonly ProxyName[] = ['nginx', 'haproxy', 'varnish'];
for (const name of proxyNames) {
  describeWithEngine(name, `behind ${name}`, () => {
    test(
      'every request that the server sees is one that the proxy sent',
      async () => {
        const random = announcedRandom(`smuggling behind ${name}`);
        const cases = smugglingCases(random, randomCases);
        const sent = cases.flatMap((each, index) => (index % 10 === 0 ? [each, probe(index)] : [each]));
        const split = sent.map(each => ({ ...each, pieces: randomPieces(each.bytes, random, piecesMax) }));
        const server = new RecordingServer();
        const proxy = await startHttpProxy(name, new URL(server.wire.url).host);
        const disagreements: string[] = [];
        let unanswered = 0;
        const send = async ({ mark, bytes, pieces }: SmugglingCase & { pieces: readonly Uint8Array[] }) => {
          let { marks, hasTimedOut } = await answersTo(proxy.url, pieces);
          if (mark.startsWith('p')) {
            // A proxy drops a client that a busy machine has delayed, and one whose turn came on a connection that was
            // closing. A request that became part of another one is different: the proxy waits for its answer.
            if (marks.length === 0 && !hasTimedOut)
              ({ marks, hasTimedOut } = await answersTo(proxy.url, [bytes]));
            if (marks.length !== 1) disagreements.push(`the harmless ${mark} got ${marks.length} answers`);
          }
          if (marks.length === 0) unanswered += 1;
          const foreign = marks.filter(each => each !== 'none' && each !== mark);
          if (foreign.length > 0)
            disagreements.push(`${JSON.stringify(bytes.toString('latin1'))} got answers of ${foreign}`);
        };
        try {
          await inParallel(split, clientsAtOnce, send);
        } finally {
          await proxy.stop();
          await server.wire.stop();
        }
        const ids = new Set<string>();
        for (const { id, mark, what } of server.seen) {
          const isProxys = id !== null && /^[\w-]+$/.test(id) && id !== 'forged' && !ids.has(id);
          if (isProxys) ids.add(id);
          else disagreements.push(`the server saw ${what} of ${mark} with the id ${id}`);
        }
        const results = {
          version: proxy.version,
          sent: sent.length,
          forwarded: server.seen.length,
          rejectedByProxy: unanswered,
          rejectedByTerse: server.rejected,
          boundaryDisagreements: disagreements.length,
        };
        report(`${name}: ${JSON.stringify(results)}`);
        expect(disagreements, seedNote).toEqual([]);
        expect(server.wire.faults).toEqual([]);
        // A proxy that forwards nothing would prove nothing.
        expect(results.forwarded).toBeGreaterThan(sent.length / 4);
        await recordResults(name, results);
        expect(recordedResults()[name]).toBeDefined();
      },
      heavyTestMaxMs,
    );
  });
}
