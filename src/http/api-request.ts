/**
 * A request as the routes of the API see it: the part of the platform's `Request` that they use, which a `Request`
 * also has. For a create, making a `Request` took longer than parsing and validating the body.
 */
import type { WireRequest } from './wire/wire-request.ts';

export interface ApiRequest extends Pick<Request, 'method' | 'url'> {
  readonly headers: RequestHeaders;
  readonly body: ReadableStream<Uint8Array> | null;
  bytes(): Promise<Uint8Array>;
  readonly params?: Readonly<Record<string, string>>;
  /** The body, if all of it has arrived with the head. */
  readonly whole?: Uint8Array | undefined;
}

/** Names are in lower case. */
export type RequestHeaders = Pick<Headers, 'get' | 'has'> & { keys(): Iterable<string> };

export class RoutedRequest implements ApiRequest {
  readonly wire: WireRequest;
  readonly params: Readonly<Record<string, string>>;
  readonly method: string;

  constructor(wire: WireRequest, params: Readonly<Record<string, string>>) {
    this.wire = wire;
    this.params = params;
    this.method = wire.platformMethod;
  }

  get url(): string {
    return this.wire.url;
  }

  get headers(): RequestHeaders {
    return this.wire.headers;
  }

  get whole(): Uint8Array | undefined {
    return this.wire.body instanceof Uint8Array ? this.wire.body : undefined;
  }

  get body(): ReadableStream<Uint8Array> | null {
    const { body } = this.wire;
    return body instanceof ReadableStream ? body : new Response(body ?? null).body;
  }

  bytes(): Promise<Uint8Array> {
    return new Response(this.wire.body ?? null).bytes();
  }
}
