/**
 * The vendor's client, made from an address. Requests go out through the platform's `fetch`, which keeps connections
 * and lets go of one at once when its call is given up; the client library's own retries are off, because calls.ts
 * knows the deadline and they do not.
 */
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { DynamoAddress } from './address.ts';

/** DynamoDB Local and its like take any key, but they want one. */
const anyCredentials = { accessKeyId: 'terse', secretAccessKey: 'terse' };

export function createClient({ region, endpoint }: DynamoAddress, hasCredentials: boolean): DynamoDBClient {
  return new DynamoDBClient({
    region,
    maxAttempts: 1,
    requestHandler: fetchHandler,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(endpoint === undefined || hasCredentials ? {} : { credentials: anyCredentials }),
  });
}

interface WireRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array;
}

const fetchHandler = {
  async handle(request: WireRequest, { abortSignal }: { abortSignal?: AbortSignal } = {}) {
    const { protocol, hostname, port, path, method, headers, body } = request;
    const address = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`;
    const answer = await fetch(address, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(abortSignal === undefined ? {} : { signal: abortSignal }),
    });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    return {
      response: { statusCode: answer.status, headers: Object.fromEntries(answer.headers), body: bytes },
    };
  },
  destroy() {},
} as unknown as NonNullable<DynamoDBClientConfig['requestHandler']>;
