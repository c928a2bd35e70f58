/**
 * Compresses the bodies of answers for clients that can decompress them (RFC 9110, section 12.5.3). Handlers know
 * nothing of it. Short bodies are coded at once, long ones on other threads, and streams piece by piece, so that no
 * other request waits. A body that is the same for every client is coded once, with more effort, and kept.
 *
 * Never coded:
 * - an answer that forbids it (`Cache-Control: no-transform`) or sets a cookie. The length of a coded body depends on
 *   its repetitions, so where a secret is beside text that an attacker chooses, the length betrays the secret letter by
 *   letter (BREACH). The answers with a new API key or an invitation, and the page with the token of a continue link,
 *   forbid it for that reason; sessions travel in cookies only.
 * - server-sent events, which must leave at once, and media types that are compressed already.
 */
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import { promisify } from 'node:util';
import { type Answer, type CodedHead, codedMinBytes, plain, varyLine } from './answer.ts';

/** Loaded by the first answer that is compressed: an idle server does without its megabytes. */
const zlib = () => process.getBuiltinModule('node:zlib');

type Headers = Pick<globalThis.Headers, 'get'>;

type Coding = 'zstd' | 'br' | 'gzip';

/** Bodies up to this size are coded at once, which takes less than two milliseconds. */
export const atOnceMaxBytes = 16 * 1024;
/** Streams that are coded at the same time; each keeps about a megabyte. Others are sent as they are. */
const streamsMax = 64;
/** Coded bodies that are kept for the next client. */
const keptMaxBytes = 8 * 1024 * 1024;
/** A smaller window than usual keeps the memory of a stream small, and costs one percent. */
const windowBits = 18;

/** Effort for a body that is sent once, and for one that is kept. */
interface Effort {
  readonly zstd: number;
  readonly br: number;
  readonly gzip: number;
}
const once: Effort = { zstd: 3, br: 4, gzip: 6 };
const kept: Effort = { zstd: 12, br: 9, gzip: 9 };

const brotliOptions = ({ br }: Effort) => ({
  params: { [zlib().constants.BROTLI_PARAM_QUALITY]: br, [zlib().constants.BROTLI_PARAM_LGWIN]: windowBits },
});
const zstdOptions = ({ zstd }: Effort) => ({
  params: {
    [zlib().constants.ZSTD_c_compressionLevel]: zstd,
    [zlib().constants.ZSTD_c_windowLog]: windowBits,
  },
});

interface Coder {
  atOnce(bytes: Uint8Array): Uint8Array;
  later(bytes: Uint8Array, effort: Effort): Promise<Uint8Array>;
  stream(): Transform;
}

type Later = (bytes: Uint8Array, options: object) => Promise<Buffer>;
const later = (name: 'gzip' | 'brotliCompress' | 'zstdCompress'): Later => promisify(zlib()[name]) as Later;

/** In order of preference: for about the same size, the one with less work comes first. */
const coders: Readonly<Record<Coding, Coder>> = {
  zstd: {
    atOnce: bytes => Bun.zstdCompressSync(bytes, { level: once.zstd }),
    later: (bytes, effort) => later('zstdCompress')(bytes, zstdOptions(effort)),
    stream: () => zlib().createZstdCompress(zstdOptions(once)),
  },
  br: {
    atOnce: bytes => zlib().brotliCompressSync(bytes, brotliOptions(once)),
    later: (bytes, effort) => later('brotliCompress')(bytes, brotliOptions(effort)),
    stream: () => zlib().createBrotliCompress(brotliOptions(once)),
  },
  gzip: {
    atOnce: bytes => Bun.gzipSync(bytes as Uint8Array<ArrayBuffer>, { level: 6 }),
    later: (bytes, effort) => later('gzip')(bytes, { level: effort.gzip }),
    stream: () => zlib().createGzip({ level: once.gzip }),
  },
};
const codings = Object.keys(coders) as readonly Coding[];
const codedEtag = new RegExp(`-(?:${codings.join('|')})(?=")`, 'g');

interface Wish {
  readonly coding: Coding | undefined;
  /** Whether the client does not accept an uncompressed body, however short it is. */
  readonly refusesPlain: boolean;
}

const wordShape = /^\s*([\w*-]+)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?$/i;

/**
 * What the header Accept-Encoding asks for. A client that accepts neither a plain body nor any of our codings gets a
 * plain one, which helps it more often than an error.
 */
export function wishOf(acceptEncoding: string | null): Wish {
  if (acceptEncoding === null) return { coding: undefined, refusesPlain: false };
  const weights = new Map<string, number>();
  for (const part of acceptEncoding.split(',')) {
    const [, name, weight = '1'] = wordShape.exec(part) ?? [];
    if (name !== undefined) weights.set(name.toLowerCase().replace(/^x-gzip$/, 'gzip'), Number(weight));
  }
  const others = weights.get('*') ?? 0;
  const weightOf = (coding: Coding): number => weights.get(coding) ?? others;
  const best = codings.reduce((found, coding) => (weightOf(coding) > weightOf(found) ? coding : found));
  const plain = weights.get('identity') ?? (weights.get('*') === 0 ? 0 : undefined);
  const isWanted = weightOf(best) > 0 && weightOf(best) >= (plain ?? 0);
  return { coding: isWanted ? best : undefined, refusesPlain: plain === 0 };
}

/** Text of any kind; images, fonts and archives are compressed already. */
const codedTypes =
  /^(?:text\/(?!event-stream)|image\/svg\+xml|application\/(?:(?:\w+\+)?json|x-ndjson|javascript|openmetrics-text))/i;

/** Whether an answer with these headers may be coded. */
function isCodable(headers: Headers): boolean {
  return (
    codedTypes.test(headers.get('content-type') ?? '') &&
    headers.get('content-encoding') === null &&
    headers.get('content-range') === null &&
    headers.get('set-cookie') === null &&
    !(headers.get('cache-control')?.includes('no-transform') ?? false)
  );
}

const linesOf = (coding: Coding): string => `${varyLine}Content-Encoding: ${coding}\r\n`;

/** Compresses a body that is sent whole. */
export async function codedBody(
  body: Uint8Array,
  answer: Headers,
  request: Headers,
): Promise<CodedHead & { readonly body: Uint8Array }> {
  const accepted = request.get('accept-encoding');
  const isShort = body.length < codedMinBytes;
  if (body.length === 0 || (isShort && !accepted?.includes('q=0')) || !isCodable(answer))
    return { ...plain, body };
  const { coding, refusesPlain } = wishOf(accepted);
  if (coding === undefined || (isShort && !refusesPlain))
    return { ...plain, body, lines: isShort ? '' : varyLine };
  const coded = await codedOnce(body, coding, answer);
  return { body: coded, lines: linesOf(coding), suffix: `-${coding}` };
}

/** The head of a 304: its ETag is that of the client's cached body, in whichever coding that is. */
export function codedUnchanged(answer: Headers, request: Headers): CodedHead {
  if (!isCodable(answer)) return plain;
  return { lines: varyLine, suffix: request.get('if-none-match')?.match(codedEtag)?.[0] ?? '' };
}

const keptBodies = new Map<string, Uint8Array>();
let keptBytes = 0;

/** Keeps compressed bodies that any cache may keep, because these are the same for every client. */
async function codedOnce(body: Uint8Array, coding: Coding, answer: Headers): Promise<Uint8Array> {
  const coder = coders[coding];
  const isPrivate = /no-store|private/.test(answer.get('cache-control') ?? 'no-store');
  if (isPrivate) return body.length <= atOnceMaxBytes ? coder.atOnce(body) : coder.later(body, once);
  const name = `${coding} ${new Bun.CryptoHasher('sha256').update(body).digest('base64')}`;
  const known = keptBodies.get(name);
  const coded = known ?? (await coder.later(body, kept));
  keep(name, coded);
  return coded;
}

/** The one that was used least recently is dropped first. */
function keep(name: string, coded: Uint8Array): void {
  drop(name);
  keptBodies.set(name, coded);
  keptBytes += coded.length;
  for (const oldest of keptBodies.keys()) {
    if (keptBytes <= keptMaxBytes) break;
    drop(oldest);
  }
}

function drop(name: string): void {
  keptBytes -= keptBodies.get(name)?.length ?? 0;
  keptBodies.delete(name);
}

let streams = 0;

/** Compresses a stream. It is read as fast as the client reads, and cancelled when the client leaves. */
export function codedStream(
  response: Response,
  request: Headers,
): { readonly body: ReadableStream<Uint8Array>; readonly lines: string } {
  const body = response.body!;
  if (!isCodable(response.headers)) return { body, lines: '' };
  const { coding } = wishOf(request.get('accept-encoding'));
  if (coding === undefined || streams >= streamsMax) return { body, lines: varyLine };
  streams += 1;
  const coder = coders[coding].stream();
  pipeline(Readable.fromWeb(body as NodeReadableStream<Uint8Array>), coder)
    // The error reaches the reader of the coded stream.
    .catch(() => undefined)
    .finally(() => {
      streams -= 1;
    });
  return { body: Readable.toWeb(coder) as ReadableStream<Uint8Array>, lines: linesOf(coding) };
}

/** The same without its body, for HEAD. */
export function codedStreamLines(response: Response, request: Headers): string {
  if (!isCodable(response.headers)) return '';
  const { coding } = wishOf(request.get('accept-encoding'));
  return coding === undefined ? varyLine : linesOf(coding);
}

const codedAnswers = new WeakMap<Answer, Map<Coding, CodedAnswer>>();

interface CodedAnswer {
  readonly head: string;
  /** One character for each byte. */
  readonly body: string;
}

/** Compresses a prepared answer; undefined when it is sent as it is. */
export function codedAnswer(answer: Answer, request: Headers): CodedAnswer | undefined {
  const { coding, refusesPlain } = wishOf(request.get('accept-encoding'));
  if (coding === undefined || (answer.body.length < codedMinBytes && !refusesPlain)) return undefined;
  if (!isCodable(headersIn(answer.head))) return undefined;
  const known = codedAnswers.get(answer)?.get(coding);
  if (known !== undefined) return known;
  const body = Buffer.from(coders[coding].atOnce(Buffer.from(answer.body))).toString('latin1');
  const head = answer.head
    .replace(varyLine, '')
    .replace(/^Content-Length: \d+\r\n/m, `${linesOf(coding)}Content-Length: ${body.length}\r\n`);
  const coded = { head, body };
  const ofAnswer = codedAnswers.get(answer) ?? new Map<Coding, CodedAnswer>();
  codedAnswers.set(answer, ofAnswer.set(coding, coded));
  return coded;
}

const headersIn = (head: string): Headers => ({
  get: name => new RegExp(`^${name}: (.*)\r$`, 'im').exec(head)?.[1] ?? null,
});

/** The validators of If-None-Match as the handlers know them: without what a coding added. */
export const plainEtags = (value: string): string => value.replace(codedEtag, '');
