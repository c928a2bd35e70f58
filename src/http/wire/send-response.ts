/** Writes a platform response: whole with its length, or piece by piece as it comes. */
import { headOf, isStreamed, mayHaveBody } from './answer.ts';
import type { Outgoing } from './outgoing.ts';
import type { WireRequest } from './wire-request.ts';

const crlf = Buffer.from('\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** `finished` ends a head with what belongs to the connection. */
export async function sendResponse(
  response: Response,
  request: WireRequest,
  out: Outgoing,
  finished: (head: string) => string,
): Promise<void> {
  const isHead = request.method === 'HEAD';
  if (isStreamed(response) && !isHead) return sendStream(response, request, out, finished);
  if (isStreamed(response)) {
    out.write(Buffer.from(finished(headOf(response))));
    await response.body?.cancel();
    return;
  }
  const body = mayHaveBody(response.status) ? await response.bytes() : undefined;
  const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`;
  const head = Buffer.from(finished(headOf(response) + length));
  out.write(body === undefined || isHead ? head : Buffer.concat([head, body]));
}

async function sendStream(
  response: Response,
  { isOldVersion }: WireRequest,
  out: Outgoing,
  finished: (head: string) => string,
): Promise<void> {
  const framing = isOldVersion ? '' : 'Transfer-Encoding: chunked\r\n';
  out.write(Buffer.from(finished(headOf(response) + framing)));
  const reader = response.body!.getReader();
  out.onGone = () => void reader.cancel().catch(() => undefined);
  if (out.isGone) out.onGone();
  for (;;) {
    const { done, value } = await reader.read();
    if (done || out.isGone) break;
    if (value.length === 0) continue;
    out.write(
      isOldVersion ? value : Buffer.concat([Buffer.from(`${value.length.toString(16)}\r\n`), value, crlf]),
    );
    await out.room();
  }
  out.onGone = undefined;
  if (!isOldVersion) out.write(lastChunk);
}
