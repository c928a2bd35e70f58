/** One request as its handler sees it: the line and fields at once, the platform's `Request` on demand. */
import { plainEtags } from './content-coding.ts';
import type { Fields } from './fields.ts';
import type { RequestLine } from './head.ts';

export interface Peer {
  /** The address of the connection's peer. */
  readonly address: string;
  /** Whether the client has closed the connection, or at least sends no more. */
  readonly hasLeft?: boolean;
}

/** The platform's `Request` treats an unknown method as GET, so a method that no route has stands for those. */
const platformMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const unknownMethod = 'TRACE';

export class WireRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly isOldVersion: boolean;
  readonly headers: Fields;
  readonly peer: Peer;
  /** The body, if any: all of it, or its stream. */
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined;
  /** Called when the handler begins to wait for bytes of the body that the client has not sent, and when it stops. */
  onBodyWait: ((isWaiting: boolean) => void) | undefined;

  constructor(
    line: RequestLine,
    headers: Fields,
    peer: Peer,
    body?: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
  ) {
    this.method = line.method;
    this.path = line.path;
    this.query = line.query;
    this.isOldVersion = line.isOldVersion;
    this.headers = headers;
    this.peer = peer;
    this.body = body;
  }

  /** Whether the client wants no further answer on this connection. */
  get wishesToClose(): boolean {
    const { persistence } = this.headers;
    return persistence === 'close' || (this.isOldVersion && persistence !== 'keep-alive');
  }

  /** The method, or the one that stands for all that no route can have. */
  get platformMethod(): string {
    return platformMethods.has(this.method) ? this.method : unknownMethod;
  }

  /**
   * The host of the URL is a fixed one: a client may send any Host, and an odd one would make a URL that no parser
   * accepts.
   */
  get url(): string {
    return `http://localhost${this.path}${this.query === '' ? '' : `?${this.query}`}`;
  }

  /** A body with GET or HEAD has no meaning and is not passed on. */
  toRequest(): Request {
    const { platformMethod: method, url } = this;
    const headers = this.headers.toHeaders();
    const etags = headers.get('if-none-match');
    if (etags !== null) headers.set('if-none-match', plainEtags(etags));
    if (this.body === undefined || method === 'GET' || method === 'HEAD')
      return new Request(url, { method, headers });
    return new Request(url, { method, headers, body: this.body, duplex: 'half' } as RequestInit);
  }
}
