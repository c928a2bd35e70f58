/**
 * Reads a request body as JSON, strictly: ambiguous or broken JSON is rejected with a sentence that helps to fix it,
 * and nothing beyond the allowed size is ever held in memory. `Content-Length` alone cannot ensure that, because a
 * chunked body has none.
 */
import { yieldToEventLoop } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { following, type NowOrLater } from '../base/now-or-later.ts';
import type { ApiRequest, RequestHeaders } from './api-request.ts';
import { countMembers, JsonReader, tooMany } from './json-reader.ts';

interface ReadJsonOptions {
  readonly bodyMaxBytes: number;
  /** The budget that is shared with all other requests. */
  readonly share: Pick<BodyShare, 'take'>;
}

/** Synchronous if all of the body has arrived and it is small. */
export function readJson(request: ApiRequest, options: ReadJsonOptions): NowOrLater<unknown> {
  requireJson(request.headers);
  const { whole } = request;
  return following(
    whole === undefined ? readBytes(request, options) : takeWhole(whole, options),
    parseStrictly,
  );
}

function parseStrictly(bytes: Uint8Array): NowOrLater<unknown> {
  if (bytes.length === 0) throw new Problem('invalid_json', { detail: 'The request body is empty.' });
  return bytes.length <= wholeBytesMax ? parseStrictJson(decode(bytes)) : parseInTurns(bytes);
}

/** A missing type is accepted, because a body that parses as JSON is unambiguous. */
function requireJson(headers: RequestHeaders): void {
  const type = headers.get('content-type');
  const essence = type?.split(';', 1)[0]?.trim().toLowerCase();
  if (
    essence !== undefined &&
    essence !== 'application/json' &&
    !/^[\w.+-]+\/[\w.+-]+\+json$/.test(essence)
  ) {
    throw new Problem('unsupported_media_type', {
      detail: 'Send the body as Content-Type: application/json.',
    });
  }
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity') {
    throw new Problem('unsupported_media_type', { detail: 'Send the body without Content-Encoding.' });
  }
}

function takeWhole(bytes: Uint8Array, { bodyMaxBytes, share }: ReadJsonOptions): Uint8Array {
  if (bytes.length > bodyMaxBytes) throw tooLarge(bodyMaxBytes);
  share.take(bytes.length);
  return bytes;
}

/** Small enough that all requests in progress may announce as much and send nothing without using up the budget. */
const wholeMaxBytes = 16 * 1024;

/**
 * A small body of announced length is read whole: the HTTP parser enforces the announced length, and reading it as a
 * stream made a create nearly half as expensive again. A large body, one without a length, or one with two different
 * lengths, is counted while it arrives.
 */
async function readBytes(request: ApiRequest, options: ReadJsonOptions): Promise<Uint8Array> {
  const announced = request.headers.get('content-length');
  if (announced === null || request.headers.has('transfer-encoding'))
    return readStream(request.body, options);
  const announcedBytes = Number(announced);
  if (announcedBytes > options.bodyMaxBytes) throw tooLarge(options.bodyMaxBytes);
  if (announcedBytes > wholeMaxBytes) return readStream(request.body, options);
  options.share.take(announcedBytes);
  const bytes = await request.bytes().catch(cutShort);
  if (bytes.length > options.bodyMaxBytes) throw tooLarge(options.bodyMaxBytes);
  return bytes;
}

const firstBufferBytes = 4096;

/**
 * One growing buffer rather than a list of chunks: a client that sends single bytes would make the list far larger than
 * the body. It starts small whatever length is announced, because announcing costs the client nothing.
 */
async function readStream(
  body: ReadableStream<Uint8Array> | null,
  { bodyMaxBytes, share }: ReadJsonOptions,
): Promise<Uint8Array> {
  if (body === null) return new Uint8Array(0);
  const reader = body.getReader();
  let buffer = new Uint8Array(firstBufferBytes);
  let length = 0;
  for (;;) {
    const { done, value: chunk } = await reader.read().catch(cutShort);
    if (done) return buffer.subarray(0, length);
    try {
      if (length + chunk.length > bodyMaxBytes) throw tooLarge(bodyMaxBytes);
      share.take(chunk.length);
    } catch (refused) {
      // The answer must not wait for the client to stop sending.
      reader.cancel().catch(() => {});
      throw refused;
    }
    if (length + chunk.length > buffer.length) {
      const larger = new Uint8Array(Math.max(length + chunk.length, buffer.length * 2));
      larger.set(buffer.subarray(0, length));
      buffer = larger;
    }
    buffer.set(chunk, length);
    length += chunk.length;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Drops a byte order mark, which some editors write at the start of a file. */
function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new Problem('invalid_json', { detail: 'The request body is not valid UTF-8.', cause });
  }
}

function tooLarge(maxBytes: number): Problem {
  return new Problem('body_too_large', { detail: `The request body may have at most ${maxBytes} bytes.` });
}

function cutShort(cause: unknown): never {
  if (cause instanceof Problem) throw cause;
  throw new Problem('invalid_json', { detail: 'The request body ended before it was complete.', cause });
}

/**
 * JSON.parse with its gaps closed. It accepts an object that has a key twice and silently keeps the last one, so that
 * two readers of one request may disagree about its content; and it accepts any depth and any number of values, at the
 * cost of seconds for a few megabytes of brackets or of unknown keys.
 *
 * For a small body the checks cost little more than parsing. A quick scan of the source counts members and depth,
 * jumping from quote to quote; after parsing, fewer members than the source has mean that a key came twice. Only then,
 * or when parsing failed, does a slow reader go through the source to find the position. Scanning a large body in one
 * go would block every other request, so the slow reader reads it, with pauses.
 *
 * Keys such as `__proto__` become own properties like any other and change nothing; validation rejects them as unknown.
 */
export const jsonDepthMax = 32;
/** Several times what any accepted object has. */
export const objectMembersMax = 64;
/** In the whole body; ten thousand links with every field have fewer. */
export const valuesMax = 400_000;

export const jsonLimits = {
  depthMax: jsonDepthMax,
  membersMax: objectMembersMax,
  valuesMax,
  itemBytesMax: 4 * 1024,
};

/** Bytes read before other requests run: a few milliseconds of work, for any content. */
const turnBytes = 64 * 1024;

/** A body of up to this size is parsed in one go. */
const wholeBytesMax = turnBytes;

export async function parseInTurns(bytes: Uint8Array): Promise<unknown> {
  const reader = new JsonReader(bytes, jsonLimits);
  while (!reader.readOn(turnBytes)) await yieldToEventLoop();
  return reader.value;
}

export function parseStrictJson(source: string): unknown {
  const memberCount = countMembersInSource(source);
  if (memberCount === undefined) throw explainJson(source);
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    throw explainJson(source);
  }
  if (countMembers(value) !== memberCount) throw explainJson(source);
  return value;
}

/** The problem with `source`, which the caller knows to be invalid. */
function explainJson(source: string): Problem {
  try {
    // The reader skips one byte order mark; a second one, in the source, is then reported as the error.
    new JsonReader(Buffer.from(`\ufeff${source}`), jsonLimits).readOn(Number.POSITIVE_INFINITY);
  } catch (fault) {
    if (fault instanceof Problem) return fault;
    throw fault;
  }
  return new Problem('invalid_json', { detail: 'The body is broken or repeats a key.' });
}

const membersAtDepth = new Uint32Array(jsonDepthMax + 1);

/**
 * Each member has one colon outside of strings; each value has a comma before it or is the first after a bracket.
 * Undefined when the nesting is too deep. The counts mean nothing for broken JSON, but they are right up to the point
 * where it breaks, and the parser goes no further.
 */
function countMembersInSource(source: string): number | undefined {
  membersAtDepth[0] = 0;
  let memberCount = 0;
  let valueCount = 0;
  let depth = 0;
  for (let position = 0; position < source.length; position += 1) {
    switch (source.charCodeAt(position)) {
      case 0x22: // "
        position = closingQuote(source, position);
        break;
      case 0x3a: // :
        memberCount += 1;
        membersAtDepth[depth]! += 1;
        if (membersAtDepth[depth]! > objectMembersMax)
          throw tooMany('An object has', objectMembersMax, 'members');
        break;
      case 0x2c: // ,
        valueCount += 1;
        if (valueCount > valuesMax) throw tooMany('The body has', valuesMax, 'values');
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        if (depth > jsonDepthMax) return undefined;
        membersAtDepth[depth] = 0;
        valueCount += 1;
        if (valueCount > valuesMax) throw tooMany('The body has', valuesMax, 'values');
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
    }
  }
  return memberCount;
}

/** Where the string that opens at `open` ends; the end of the source when it does not. */
function closingQuote(source: string, open: number): number {
  for (let from = open + 1; ; ) {
    const quote = source.indexOf('"', from);
    if (quote === -1) return source.length;
    let backslashes = 0;
    while (source.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}

/**
 * Limits how many bytes of request bodies this process holds at once. Each body has its own limit, but thousands of
 * requests may be in progress, and the product is more than any machine has. Bytes count as they arrive: announcing a
 * large body costs the sender nothing, so it must not reserve memory. A request keeps its bytes reserved until it is
 * answered, because the parsed body lives as long.
 */
export class BodyBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** One request's part of the budget. Callers without a key get at most half, so that they cannot shut out others. */
  share(isAnonymous: boolean): BodyShare {
    const bytesMax = isAnonymous ? this.#bytesMax / 2 : this.#bytesMax;
    let taken = 0;
    return {
      take: bytes => {
        if (this.#bytes + bytes > bytesMax) {
          throw new Problem('overloaded', {
            detail: 'Too many large requests are being read.',
            headers: { 'Retry-After': '1' },
          });
        }
        taken += bytes;
        this.#bytes += bytes;
      },
      release: () => {
        this.#bytes -= taken;
        taken = 0;
      },
    };
  }
}

export interface BodyShare {
  /** Throws when the budget does not have this many bytes left. */
  take(bytes: number): void;
  /** Releases all of it. */
  release(): void;
}
