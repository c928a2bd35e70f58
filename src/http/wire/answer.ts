/**
 * An answer in its wire format. The redirect builds these itself, because building a `Response` only to take it apart
 * again costs more than everything else it does; all other handlers return a `Response`.
 */

export interface Answer {
  readonly status: number;
  /** The status line and the header lines, each with its end; the server adds the headers of the connection. */
  readonly head: string;
  readonly body: string;
  /** Whether the body is known to be ASCII: then the answer is sent as it is, without a copy. */
  readonly isAscii?: boolean;
}

const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  206: 'Partial Content',
  301: 'Moved Permanently',
  302: 'Found',
  303: 'See Other',
  304: 'Not Modified',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  451: 'Unavailable For Legal Reasons',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  505: 'HTTP Version Not Supported',
};

export const statusLine = (status: number): string => `HTTP/1.1 ${status} ${reasons[status] ?? ''}\r\n`;

/** A line end in a value would let an attacker begin a header, or another answer. */
const isOneLine = (value: string): boolean => !/[^\t\x20-\x7e]/.test(value);

export function answerOf(status: number, headers: Readonly<Record<string, string>>, body: string): Answer {
  let head = statusLine(status);
  for (const name in headers) {
    const value = headers[name]!;
    if (!isOneLine(value)) throw new Error(`the header ${name} is not one line of ASCII`);
    head += `${name}: ${value}\r\n`;
  }
  const bytes = Buffer.byteLength(body);
  const vary = bytes < codedMinBytes ? '' : varyLine;
  return { status, head: `${head}${vary}Content-Length: ${bytes}\r\n`, body, isAscii: bytes === body.length };
}

/** A body of this size or more is compressed for clients that ask for it (content-coding.ts). */
export const codedMinBytes = 1_024;
export const varyLine = 'Vary: Accept-Encoding\r\n';

/** The head of a platform response, without the headers that frame its body. */
export function headOf(response: Response, { lines, suffix } = plain): string {
  let head = statusLine(response.status);
  for (const [name, value] of response.headers) {
    if (name === 'content-length' || name === 'transfer-encoding' || name === 'connection') continue;
    head += `${name}: ${name === 'etag' ? value.replace(/"$/, `${suffix}"`) : value}\r\n`;
  }
  return head + lines;
}

/** The changes that the coding of a body makes to its head. */
export interface CodedHead {
  /** Headers, each with its end. */
  readonly lines: string;
  /** Appended to an ETag, because a coded body is another representation with its own validator. */
  readonly suffix: string;
}

export const plain: CodedHead = { lines: '', suffix: '' };

/** Whether an answer of this status has a body at all. */
export const mayHaveBody = (status: number): boolean => status !== 204 && status !== 304;

const streams = new WeakSet<Response>();

/** A response whose body is sent piece by piece, as it is produced; any other is sent whole, with its length. */
export function streamed(body: ReadableStream<Uint8Array>, headers: Record<string, string>): Response {
  const response = new Response(body, { headers });
  streams.add(response);
  return response;
}

export const isStreamed = (response: Response): boolean => streams.has(response);
