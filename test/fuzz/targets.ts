/**
 * The parsers of hostile bytes, each with the properties that must hold for any input. `run` throws when one does not,
 * and otherwise returns a short description of what the parser did. A new description counts as new behaviour, because
 * Bun has no coverage feedback.
 */
import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { isIP } from 'node:net';
import { createUrlPolicy, urlBytesMax } from '../../src/abuse/url-policy.ts';
import { Problem } from '../../src/base/errors.ts';
import type { Random } from '../../src/base/random.ts';
import { sampleBatch, samplesStart } from '../../src/clicks/batch-samples.ts';
import { forgedFrame, openedFrame, payloadOf } from '../../src/clicks/fake-frames.ts';
import {
  batchFault,
  decodeFrame,
  encodeFrame,
  producerFault,
  validateFrame,
} from '../../src/clicks/frame.ts';
import { JsonReader } from '../../src/http/json-reader.ts';
import { jsonLimits, parseStrictJson } from '../../src/http/read-json.ts';
import { readProxyHeader } from '../../src/http/wire/proxy-protocol.ts';
import { llhttpVectors } from '../foreign/vectors.ts';
import { randomPieces, singleBytes, wireOutcome } from '../kit/wire-outcome.ts';

export interface FuzzTarget {
  readonly starts: () => readonly Uint8Array[];
  /** Pieces that mutations insert. */
  readonly words: readonly Uint8Array[];
  readonly run: (bytes: Buffer, random: Random) => string | Promise<string>;
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const utf8 = (text: string): Buffer => Buffer.from(text);

const wireHeldMaxBytes = 128 * 1024;

const wire: FuzzTarget = {
  starts: () => [
    latin1('GET /a?b HTTP/1.1\r\nHost: h\r\n\r\nGET http://h/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n'),
    latin1(
      'POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc\r\nHEAD / HTTP/1.1\r\nHost: h\r\n\r\n',
    ),
    latin1(
      'PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2;a="b"\r\nhi\r\n0\r\nX: y\r\n\r\nGET',
    ),
    latin1('\r\n'.repeat(5)),
    latin1(`GET / HTTP/1.1\r\n${'X: y\r\n'.repeat(101)}\r\n`),
    latin1(`GET / HTTP/1.1\r\nHost: h\r\nX: ${'x'.repeat(16_400)}\r\n\r\n`),
    ...llhttpVectors().map(({ bytes }) => bytes),
  ],
  words: [
    ...[
      '\r\n',
      '\n',
      '\r',
      '\r\n\r\n',
      ' ',
      '\t',
      '\0',
      ':',
      ';',
      ',',
      '"',
      '0',
      '1',
      'ffffffff',
      '\xff',
      '?',
      '#',
    ],
    ...['Host: h\r\n', 'Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', 'Expect: 100-continue\r\n'],
    ...[
      'Connection: close\r\n',
      'HTTP/1.0',
      'HTTP/1.1\r\n',
      'GET / HTTP/1.1\r\nHost: h\r\n\r\n',
      '0\r\n\r\n',
    ],
    'x'.repeat(5_000),
  ].map(latin1),
  async run(bytes, random) {
    const whole = await wireOutcome([bytes]);
    const splits = [randomPieces(bytes, random, 6), ...(bytes.length < 300 ? [singleBytes(bytes)] : [])];
    for (const pieces of splits) {
      const { requests, error, faults, heldBytes } = await wireOutcome(pieces);
      deepStrictEqual({ requests, error }, { requests: whole.requests, error: whole.error });
      deepStrictEqual(faults, []);
      ok(heldBytes <= wireHeldMaxBytes, `${heldBytes} bytes are held`);
    }
    deepStrictEqual(whole.faults, []);
    return `${Math.min(whole.requests.length, 3)} requests, ${whole.error ?? 'no error'}`;
  },
};

const ownHost = 'sho.rt';
const policy = createUrlPolicy({ ownHosts: [ownHost, '127.0.0.1'] });
const forbiddenHost =
  /^(?:sho\.rt|(?:.+\.)?localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\]|\[::ffff:[\da-f]{1,4}:[\da-f]{1,4}\])\.?$/;

const urls: FuzzTarget = {
  starts: () =>
    [
      'https://example.com/path?query=1#fragment',
      'http://münchen.example:8080/ä?ö',
      'http://192.0.2.1/',
      'http://[2001:db8::1]:80/x',
      'https://user:password@example.com/',
      'javascript:alert(1)',
      `http://${ownHost}/abc`,
      'HTTP://LOCALHOST./',
      'http://0x7f.1/',
      'http://[::ffff:127.0.0.1]/',
    ].map(utf8),
  words: [
    ...[
      'http:',
      'https://',
      'javascript:',
      'data:',
      '//',
      '\\',
      '/',
      '@',
      ':',
      '#',
      '?',
      '.',
      '..',
      '%',
      '%2e',
      '%00',
    ],
    ...[
      '\t',
      '\n',
      ' ',
      '\u3002',
      '\u00ad',
      '\ufeff',
      '\u200b',
      'ß',
      'ſ',
      '①',
      '0x',
      '0177',
      '127.1',
      ownHost,
    ],
    ...[
      'ＳＨＯ.ＲＴ',
      'localhost',
      '[::1]',
      '[::ffff:7f00:1]',
      '\ud83d\ude00',
      '\u0301',
      'xn--',
      '99999',
      'a'.repeat(70),
    ],
  ].map(utf8),
  run(bytes) {
    const input = bytes.toString('utf8');
    const verdict = policy.judge(input);
    if (!verdict.ok) return verdict.reason;
    const { url } = verdict;
    deepStrictEqual(policy.judge(url), { ok: true, url });
    ok(policy.isFollowable(url), 'what is accepted is followed');
    const { protocol, hostname, username, password, href } = new URL(url);
    strictEqual(href, url);
    ok(/^https?:$/.test(protocol) && username === '' && password === '', url);
    ok(!forbiddenHost.test(hostname), `the host ${hostname} is accepted`);
    ok(url.length <= urlBytesMax && /^[!-~]+$/.test(url), 'the stored form is short and printable ASCII');
    const host = isIP(hostname.replace(/[[\]]/g, '')) || (hostname.includes('xn--') ? 'IDN' : 'name');
    return `accepted, ${host}, ${url === input ? 'as it is' : 'in another form'}`;
  },
};

/** The value, or the problem's text. */
function jsonOutcome(read: () => unknown): { value: unknown } | { problem: string } {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof Problem) return { problem: error.detail };
    throw error;
  }
}

function readInPieces(bytes: Buffer, pieceBytes: number): unknown {
  const reader = new JsonReader(bytes, jsonLimits);
  while (!reader.readOn(pieceBytes));
  return reader.value;
}

const memberCount = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.values(value).reduce<number>(
        (sum, each) => sum + memberCount(each),
        Array.isArray(value) ? 0 : Object.keys(value).length,
      );
/** The number of keys in a valid document: strings that a colon follows. */
const keyCount = (source: string): number =>
  [...source.matchAll(/"(?:[^"\\]|\\.)*"([ \t\r\n]*:)?/g)].filter(([, colon]) => colon !== undefined).length;
const ownRules = /appears twice|more than \d+ |levels deep|A number is too long|not valid UTF-8/;

const json: FuzzTarget = {
  starts: () =>
    [
      '{"longUrl":"https://example.com/","tags":["a","b"],"count":-1.5e3,"flag":true,"none":null}',
      '[{"a":{"b":[[],{}]}},"\\u00e9\\n\\ud83d\\ude00 é😀"]',
      '\ufeff {"a":1,"a":2}',
      '"\\ud800"',
      '{"__proto__":{"a":0}}',
    ].map(utf8),
  words: [
    ...[
      '{',
      '}',
      '[',
      ']',
      '"',
      ':',
      ',',
      '\\',
      '\\u',
      '\\u0000',
      '\\ud800',
      'null',
      'true',
      'false',
      '-',
      '0',
      '1e9',
    ],
    ...['"a":1,', '"__proto__":', '\n', '\t', '\0', 'é', '\ufeff', '1'.repeat(40), '['.repeat(33), '"": "",'],
  ].map(utf8),
  run(bytes) {
    const whole = jsonOutcome(() => readInPieces(bytes, Number.POSITIVE_INFINITY));
    for (const pieceBytes of [1, 7])
      deepStrictEqual(
        jsonOutcome(() => readInPieces(bytes, pieceBytes)),
        whole,
      );
    let source: string | undefined;
    try {
      source = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
      // Only where the reader decodes text.
    }
    if (source !== undefined && source !== '')
      deepStrictEqual(
        jsonOutcome(() => parseStrictJson(source)),
        whole,
      );
    let parsed: { value: unknown } | undefined;
    try {
      if (source !== undefined) parsed = { value: JSON.parse(source) };
    } catch {
      // Not JSON.
    }
    if ('problem' in whole) {
      ok(parsed === undefined || ownRules.test(whole.problem), `JSON is rejected: ${whole.problem}`);
      return whole.problem
        .replace(/^The key .*" appears/, 'A key appears')
        .replace(/ (?:but found|at line) .*/s, '');
    }
    deepStrictEqual(whole, parsed);
    strictEqual(memberCount(whole.value), keyCount(source!), 'a key that comes twice is rejected');
    return `accepted, ${Array.isArray(whole.value) ? 'array' : typeof whole.value}`;
  },
};

const wideMs = 60 * 24 * 60 * 60_000;

/** With times far apart, and suspicious clicks. */
const wideFrame = (): Buffer =>
  Buffer.from(
    encodeFrame(
      'two',
      sampleBatch(1, [
        { at: samplesStart, signal: 'address' },
        { at: samplesStart + wideMs, utmSource: 'news', city: 'Bonn' },
      ]),
    ),
  );

const sampleFrame = (): Buffer =>
  Buffer.from(
    encodeFrame(
      'one',
      sampleBatch(7, [
        {
          at: samplesStart,
          code: 'abc',
          ownerId: 'me',
          tags: ['t'],
          country: 'DE',
          referrer: 'https://a.example/',
        },
        { at: samplesStart + 5, visitor: 2, kind: 'bot', browser: 'x' },
      ]),
    ),
  );

function frameFault(frame: Buffer): string {
  try {
    const { producer, batch } = decodeFrame(frame, 0)!;
    return producerFault(producer) ?? batchFault(batch) ?? 'no reason';
  } catch (error) {
    return (error as Error).name === 'Error' ? (error as Error).message : (error as Error).name;
  }
}

/** The input is the payload of a frame with a right checksum, because mutations would otherwise all fail on that. */
const frames: FuzzTarget = {
  starts: () => {
    const wide = openedFrame(wideFrame());
    return [
      payloadOf(openedFrame(sampleFrame())),
      payloadOf({ ...wide, head: { ...wide.head, givenBefore: [1, 2] } }),
    ];
  },
  words: [
    'null',
    '{}',
    '[]',
    '""',
    '-1',
    '0',
    '1e300',
    '1.5',
    '"code"',
    '"links":[]',
    '\0\0\0\0',
    '\xff\xff\xff\xff',
  ].map(latin1),
  run(bytes) {
    const frame = forgedFrame(bytes);
    const decoded = validateFrame(frame);
    if (decoded === undefined) return `rejected, ${frameFault(frame)}`;
    const again = validateFrame(Buffer.from(encodeFrame(decoded.producer, decoded.batch)));
    deepStrictEqual(again && { ...again, bytes: 0 }, { ...decoded, bytes: 0 });
    strictEqual(validateFrame(frame.subarray(0, -1)), undefined, 'a frame that is cut short is none');
    const { batch } = decoded;
    return `accepted, ${Math.min(batch.at.length, 2)} clicks, ${batch.signal.some(Boolean)}, ${batch.givenBefore?.length ?? 'none'} before`;
  },
};

const proxyProtocol: FuzzTarget = {
  starts: () => [
    latin1('PROXY TCP4 192.0.2.1 192.0.2.2 40000 80\r\nGET /'),
    latin1('PROXY TCP6 2001:db8::1 ::1 1 65535\r\n'),
    latin1('PROXY UNKNOWN\r\n'),
    latin1('\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\x9c\x40\0\x50GET /'),
    latin1(`\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x24${'\x20\x01'.repeat(16)}\0\x01\0\x02`),
    latin1('\r\n\r\n\0\r\nQUIT\n\x20\0\0\0'),
  ],
  words: [
    ' ',
    '\r\n',
    '\n',
    'TCP4',
    'TCP6',
    'UNKNOWN',
    '0',
    '65536',
    '::',
    '\0',
    '\x21\x11',
    '\xff\xff',
    'x'.repeat(60),
  ].map(latin1),
  run(bytes) {
    const read = (length: number) => {
      try {
        return readProxyHeader(bytes.subarray(0, length)) ?? 'incomplete';
      } catch (error) {
        strictEqual(Object.getPrototypeOf(error), Error.prototype, String(error));
        return (error as Error).message;
      }
    };
    const whole = read(bytes.length);
    const usedBytes = typeof whole === 'string' ? Number.POSITIVE_INFINITY : whole.usedBytes;
    for (let length = 0; length < bytes.length; length += 1) {
      const part = read(length);
      if (length >= usedBytes) deepStrictEqual(part, whole);
      else
        ok(part === 'incomplete' || (part === whole && usedBytes > bytes.length), `${part}, then ${whole}`);
    }
    if (typeof whole === 'string') return whole;
    ok(whole.address === undefined || isIP(whole.address) !== 0, `the address is ${whole.address}`);
    return `an address of version ${isIP(whole.address ?? '')}`;
  },
};

export const fuzzTargets: Readonly<Record<string, FuzzTarget>> = {
  wire,
  urls,
  json,
  frames,
  'proxy-protocol': proxyProtocol,
};
