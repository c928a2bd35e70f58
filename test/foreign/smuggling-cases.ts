/**
 * Requests whose ends two parsers might see in different places, as one client would send them on a connection. Each
 * hides or pipelines another request, and all requests of a case carry its mark.
 */
import type { Random } from '../../src/base/random.ts';
import { llhttpVectors, withHost } from './vectors.ts';

export interface SmugglingCase {
  /** The value of `X-Mark` in every request of the case. */
  readonly mark: string;
  readonly bytes: Buffer;
}

const transferEncodings = [
  ...[
    'chunked',
    'Chunked',
    'xchunked',
    'chunkedx',
    'cow',
    'identity',
    'gzip',
    '',
    '"chunked"',
    'chunked;q=1',
  ],
  ...['chunked, identity', 'identity, chunked', 'gzip, chunked', 'chunked, chunked', 'chunked,', ',chunked'],
  ...[
    ' chunked',
    '\tchunked',
    'chunked ',
    'chunked\t',
    '\x0bchunked',
    'chunked\x0c',
    'chunked\0',
    '\0chunked',
  ],
  ...['\xa0chunked', 'chunked\x85', '\r\n chunked', 'chunked\r\n ,identity', '\n chunked', 'chunked\rX: y'],
  ...['chunked\r\nTransfer-Encoding: identity', 'identity\r\nTransfer-Encoding: chunked'],
  ...['chunked\r\nTransfer-Encoding: chunked', 'x\nTransfer-Encoding: chunked'],
];
const transferEncodingLines = [
  ...transferEncodings.map(value => `Transfer-Encoding: ${value}\r\n`),
  ...['Transfer-Encoding : chunked', 'Transfer-Encoding\t: chunked', ' Transfer-Encoding: chunked'].map(
    ended,
  ),
  ...['Transfer_Encoding: chunked', 'Transfer-Encoding\0: chunked', 'Transfer-Encoding:chunked'].map(ended),
  ...['transfer-encoding: CHUNKED', 'X: y\nTransfer-Encoding: chunked', 'Transfer-Encoding chunked'].map(
    ended,
  ),
  ...[
    'X: y\rTransfer-Encoding: chunked',
    '\x00Transfer-Encoding: chunked',
    'Transfer-Encodin\xe7: chunked',
  ].map(ended),
  'Transfer-Encoding: chunked\n',
];

/** Spellings of a length; `N` becomes the right number. */
const lengthLines = [
  ...[
    'N',
    'N ',
    '\tN',
    '+N',
    '-N',
    '0N',
    '0xN',
    'N N',
    'N,N',
    'N, N',
    'N;',
    'N.0',
    'Ne0',
    '\x0bN',
    'N\0',
    '"N"',
  ],
  ...[
    '',
    '0',
    '1',
    '9999999999999999999999',
    '18446744073709551616',
    '4294967296',
    '\r\n N',
    'N\r\n 0',
    'N\n',
  ],
  ...['N\r\nContent-Length: N', 'N\r\nContent-Length: 0', '0\r\nContent-Length: N', '0, N', 'N\xa0'],
]
  .map(value => `Content-Length: ${value}\r\n`)
  .concat(
    ['Content-Length : N', 'Content_Length: N', ' Content-Length: N', 'Content-Length\t: N'].map(ended),
    ['X: y\nContent-Length: N', 'Content-Length:N', 'X: y\rContent-Length: N', 'Content-Length\0: N'].map(
      ended,
    ),
    'Content-Length: N\n',
  );

const chunkSizeLines = [
  ...[
    'S\r\n',
    '0S\r\n',
    '00000000000000000S\r\n',
    '0xS\r\n',
    '+S\r\n',
    '-S\r\n',
    ' S\r\n',
    'S \r\n',
    'S\t\r\n',
  ],
  ...[
    'S\n',
    'S\r',
    'S\r\r\n',
    'S\0\r\n',
    '1000000000000000S\r\n',
    'S;\r\n',
    'S;a\r\n',
    'S;a=b\r\n',
    'S ;a=b\r\n',
  ],
  ...[
    'S;a="b"\r\n',
    'S;a="b\r\n',
    'S;a="\r\n"\r\n',
    'S;a\nb\r\n',
    'S;a\rb\r\n',
    'S;\0\r\n',
    'S;a="\\\r\n',
    'S,a\r\n',
  ],
  ...['S;\n', 'S;a\n', 'S\r\n\r\n', `S;${'x'.repeat(300)}\r\n`, 'S g\r\n', 'S_\r\n'],
];
const lastChunks = [
  ...[
    '0\r\n\r\n',
    '00\r\n\r\n',
    '0;a\r\n\r\n',
    '0\n\n',
    '0\r\n\n',
    '0\n\r\n',
    '0\r\r',
    '-0\r\n\r\n',
    '0 \r\n\r\n',
  ],
  ...[
    '0\r\nX: y\r\n\r\n',
    '0\r\n X: y\r\n\r\n',
    '0\r\nX : y\r\n\r\n',
    '0\r\nX\r\n\r\n',
    '0\r\nX: y\n\r\n',
    '',
  ],
  ...['0\r\nContent-Length: 5\r\n\r\n', '0\r\nTransfer-Encoding: chunked\r\n\r\n', '0\r\nHost: x\r\n\r\n'],
];
const requestLines = [
  ...[
    'GET / HTTP/1.1\r\n',
    'GET  / HTTP/1.1\r\n',
    'GET\t/\tHTTP/1.1\r\n',
    ' GET / HTTP/1.1\r\n',
    'get / HTTP/1.1\r\n',
  ],
  ...[
    'GET / HTTP/1.1 \r\n',
    'GET / HTTP/1.1\n',
    'GET / HTTP/1.1\r',
    'GET / HTTP/1.2\r\n',
    'GET / HTTP/2.0\r\n',
  ],
  ...[
    'GET / HTTP/1.0\r\n',
    'GET / HTTP/0.9\r\n',
    'GET /\r\n',
    'GET / http/1.1\r\n',
    'GET / HTTP/01.1\r\n',
    '\r\n\r\n',
  ],
  ...['GET /a b HTTP/1.1\r\n', 'GET /\0 HTTP/1.1\r\n', 'GET /\x7f HTTP/1.1\r\n', 'GET /\xff HTTP/1.1\r\n'],
  ...[
    'GET http://other/ HTTP/1.1\r\n',
    'GET http://u@h/ HTTP/1.1\r\n',
    'GET //h/ HTTP/1.1\r\n',
    'GET * HTTP/1.1\r\n',
  ],
  ...[
    'OPTIONS * HTTP/1.1\r\n',
    'GET h:80 HTTP/1.1\r\n',
    'CONNECT h:80 HTTP/1.1\r\n',
    'CONNECT / HTTP/1.1\r\n',
  ],
  ...['GET /%0d%0aX:%20y HTTP/1.1\r\n', 'GET /#a HTTP/1.1\r\n', 'GET ?a HTTP/1.1\r\n', 'HEAD / HTTP/1.1\r\n'],
  ...[
    'PRI * HTTP/2.0\r\n',
    'TRACE / HTTP/1.1\r\n',
    'G\0ET / HTTP/1.1\r\n',
    `GET /${'a'.repeat(9_000)} HTTP/1.1\r\n`,
  ],
];
const extraLines = [
  ...[
    '',
    'Expect: 100-continue',
    'Expect: 200-ok',
    'Upgrade: websocket\r\nConnection: upgrade',
    'TE: trailers',
  ],
  ...['Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA'],
  ...[
    'Connection: close',
    'Connection: keep-alive',
    'Connection: Content-Length',
    'Connection: Transfer-Encoding',
  ],
  ...[
    'X-Forwarded-Id: forged',
    'X_Forwarded_Id: forged',
    'X: \0',
    'X\0: y',
    'X: a\r\n b',
    'X: a\n b',
    ': y',
    'X',
  ],
  ...['Host: other', 'X: \xff', 'X\xff: y', 'X: a\rb', 'Trailer: Content-Length', `X: ${'y'.repeat(9_000)}`],
].map(line => (line === '' ? '' : ended(line)));

function ended(line: string): string {
  return `${line}\r\n`;
}

interface Shape {
  readonly line: string;
  /** Framing and other header lines, in this order. */
  readonly lines: readonly string[];
  readonly body: (hidden: string) => string;
}

const post = 'POST / HTTP/1.1\r\n';
const plain = (hidden: string): string => hidden;
const inChunk =
  (sizeLine = 'S\r\n', last = '0\r\n\r\n', dataEnd = '\r\n') =>
  (hidden: string): string =>
    `${sizeLine.replace('S', hidden.length.toString(16))}${hidden}${dataEnd}${last}`;
const behindChunks = (hidden: string): string => `0\r\n\r\n${hidden}`;
const chunked = 'Transfer-Encoding: chunked\r\n';

/** Every trick once with every way to frame a body that goes with it. */
const everyShape: readonly Shape[] = [
  ...transferEncodingLines.flatMap(line => [
    { line: post, lines: [line], body: inChunk() },
    { line: post, lines: [line, 'Content-Length: 5\r\n'], body: behindChunks },
    { line: post, lines: ['Content-Length: N\r\n', line], body: inChunk() },
    { line: 'POST / HTTP/1.0\r\n', lines: [line, 'Connection: keep-alive\r\n'], body: inChunk() },
  ]),
  ...lengthLines.flatMap(line => [
    { line: post, lines: [line], body: plain },
    { line: 'GET / HTTP/1.1\r\n', lines: [line], body: plain },
  ]),
  ...chunkSizeLines.map(size => ({ line: post, lines: [chunked], body: inChunk(size) })),
  ...lastChunks.map(last => ({ line: post, lines: [chunked], body: inChunk('S\r\n', last) })),
  ...['', '\n', '\r', 'x\r\n', '\r\n\r\n'].map(end => ({
    line: post,
    lines: [chunked],
    body: inChunk('S\r\n', '0\r\n\r\n', end),
  })),
  ...requestLines.flatMap(line => [
    { line, lines: [], body: plain },
    { line, lines: ['Content-Length: N\r\n'], body: plain },
  ]),
  ...extraLines.flatMap(extra => [
    { line: post, lines: [extra, 'Content-Length: N\r\n'], body: plain },
    { line: post, lines: [chunked, extra], body: inChunk() },
    { line: 'GET / HTTP/1.1\r\n', lines: [extra], body: plain },
  ]),
];

function bytesOf({ line, lines, body }: Shape, mark: string): Buffer {
  // A client that gets it past a proxy would forge what the proxy adds.
  const hidden = `GET /hidden-${mark} HTTP/1.1\r\nHost: h\r\nX-Mark: ${mark}\r\nX-Forwarded-Id: forged\r\n\r\n`;
  const content = body(hidden);
  const framing = lines.join('').replaceAll('N', String(content.length));
  const next = `GET /next-${mark} HTTP/1.1\r\nHost: h\r\nX-Mark: ${mark}\r\n\r\n`;
  return Buffer.from(`${line}Host: h\r\nX-Mark: ${mark}\r\n${framing}\r\n${content}${next}`, 'latin1');
}

function randomShape(random: Random): Shape {
  const one = <Item>(list: readonly Item[]): Item => list[Math.floor(random.float() * list.length)]!;
  const lines = [one(transferEncodingLines), one(lengthLines), one(extraLines), one([chunked, ''])]
    .filter(() => random.float() < 0.6)
    .sort(() => random.float() - 0.5);
  const bodies = [plain, behindChunks, inChunk(one(chunkSizeLines), one(lastChunks)), inChunk()];
  return { line: one([post, post, post, one(requestLines)]), lines, body: one(bodies) };
}

/** llhttp's vectors, every trick once, and `randomCount` combinations. */
export function smugglingCases(random: Random, randomCount: number): SmugglingCase[] {
  const shapes = [...everyShape, ...Array.from({ length: randomCount }, () => randomShape(random))];
  const made = shapes.map((shape, index) => ({ mark: `s${index}`, bytes: bytesOf(shape, `s${index}`) }));
  const given = llhttpVectors().map(({ bytes }, index) => {
    const mark = `v${index}`;
    // Not before a line that begins with a blank, which would then continue the mark.
    const marked = withHost(bytes.toString('latin1')).replaceAll(
      /HTTP\/1\.[01]\r\n(?![ \t])/g,
      `$&X-Mark: ${mark}\r\n`,
    );
    return { mark, bytes: Buffer.from(marked, 'latin1') };
  });
  return [...given, ...made];
}
