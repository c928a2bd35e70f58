/**
 * Reads a request body as JSON, strictly: what is ambiguous or broken is refused with a sentence that helps to
 * mend it, and nothing beyond the allowed size is ever held in memory. `Content-Length` alone would not do for
 * that, because a chunked body has none.
 */
import { Problem } from '../base/errors.ts';
import type { BodyShare } from './body-budget.ts';
import { parseInTurns, parseStrictJson, wholeBytesMax } from './strict-json.ts';

export interface ReadJsonOptions {
  readonly bodyMaxBytes: number;
  /** Where the bytes are counted against those of all other requests. */
  readonly share: Pick<BodyShare, 'take'>;
}

export async function readJson(request: Request, options: ReadJsonOptions): Promise<unknown> {
  requireJson(request.headers);
  const bytes = await readBytes(request, options);
  if (bytes.length === 0) throw new Problem('invalid_json', { detail: 'The request body is empty.' });
  return bytes.length <= wholeBytesMax ? parseStrictJson(decode(bytes)) : parseInTurns(bytes);
}

/** A missing type is accepted, because a body that then turns out to be JSON leaves no doubt. */
function requireJson(headers: Headers): void {
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

/** Small enough that all requests in progress may announce as much and send nothing without using up the budget. */
const wholeMaxBytes = 16 * 1024;

/**
 * A small body of announced length is taken whole: the HTTP parser holds the client to what it announced, and
 * reading it as a stream made a create cost nearly half as much again. A large one, one without a length, or one with
 * two ideas of it, is counted on the way.
 */
async function readBytes(request: Request, options: ReadJsonOptions): Promise<Uint8Array> {
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
 * One growing buffer rather than a list of chunks: a client that sends single bytes would make the list far
 * larger than the body. It starts small whatever the client announces, because announcing costs nothing.
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

/** Drops a byte order mark, which some editors put in front of what they save. */
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
