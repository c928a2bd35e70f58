/**
 * One HTTP exchange with a Safe Browsing server, bounded in time and size. The key travels in a header, so it is
 * in nobody's access log; redirects are not followed, so it goes nowhere else.
 * Invariant: `exchange` gives the body of a 200 answer of the right type, or rejects with a `SafeBrowsingFault`.
 */
import type { Clock } from '../../base/clock.ts';
import { SafeBrowsingFault } from './fault.ts';

export interface TransportOptions {
  /** An http or https origin. */
  readonly server: string;
  readonly key: string;
  readonly clientVersion: string;
  readonly clock: Clock;
}

export interface Exchange {
  /** With its query. */
  readonly path: string;
  /** Sent by POST; a GET has none. */
  readonly body?: Uint8Array;
  readonly timeMaxMs: number;
  readonly bytesMax: number;
}

export class Transport {
  readonly #options: TransportOptions;
  readonly #underWay = new Set<AbortController>();

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  get server(): string {
    return this.#options.server;
  }

  async exchange({ path, body, timeMaxMs, bytesMax }: Exchange): Promise<Uint8Array> {
    const { server, key, clientVersion, clock } = this.#options;
    const abort = new AbortController();
    let isLate = false;
    const cancelTimer = clock.after(timeMaxMs, () => {
      isLate = true;
      abort.abort();
    });
    this.#underWay.add(abort);
    try {
      const response = await fetch(`${server}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          Accept: 'application/x-protobuf',
          'User-Agent': `terse/${clientVersion}`,
          'X-Goog-Api-Key': key,
          ...(body !== undefined && { 'Content-Type': 'application/x-protobuf' }),
        },
        ...(body !== undefined && { body }),
        redirect: 'manual',
        signal: abort.signal,
      });
      return await bodyOf(response, bytesMax);
    } catch (error) {
      if (isLate) throw new SafeBrowsingFault('timeout', `no answer within ${timeMaxMs} ms`);
      if (error instanceof SafeBrowsingFault) throw error;
      // The message of a failed fetch may quote the address, which says nothing new but could one day carry more.
      throw new SafeBrowsingFault('unreachable', 'the server cannot be reached');
    } finally {
      cancelTimer();
      // Whatever is left of an answer that was given up must not go on arriving.
      abort.abort();
      this.#underWay.delete(abort);
    }
  }

  /** Gives up whatever is under way. */
  close(): void {
    for (const abort of this.#underWay) abort.abort();
  }
}

async function bodyOf(response: Response, bytesMax: number): Promise<Uint8Array> {
  if (response.status !== 200) throw new SafeBrowsingFault('status', `status ${response.status}`);
  const type = response.headers.get('content-type') ?? 'none';
  if (!/^application\/(?:x-)?protobuf(?:$|;)/i.test(type)) {
    throw new SafeBrowsingFault('content_type', `content type ${type.slice(0, 80)}`);
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > bytesMax) throw new SafeBrowsingFault('too_large', `more than ${bytesMax} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
