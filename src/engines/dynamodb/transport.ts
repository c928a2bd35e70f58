/**
 * Requests to DynamoDB: JSON over the platform's `fetch`, which keeps connections and drops one at once when its call is
 * given up. The vendor's client makes a request for a millisecond of CPU; it is only asked where requests go and who
 * signs them, because it knows every place where operators put that (ADR 30). Retries are in calls.ts, which knows the
 * deadline.
 */

import { createHash, createHmac } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { DynamoAddress } from './address.ts';
import { DynamoError } from './failures.ts';

export interface DynamoClient {
  /** Rejects with a `DynamoError` when the engine answers with one, and as `fetch` does when it does not answer. */
  send<Output>(operation: string, input: object, signal: AbortSignal): Promise<Output>;
}

export interface ClientOptions {
  readonly clock: Clock;
  /**
   * Whether the environment holds credentials; without them an engine with an address of its own is given made-up ones.
   */
  readonly hasCredentials: boolean;
  /** Called with the engine's time, by its answer to a request that was sent at `sentAt`. */
  readonly onTime?: (engineTime: number, sentAt: number) => void;
}

/** Where requests go, and in whose name. */
interface Access {
  readonly origin: string;
  /** Cached, and renewed before they expire. */
  readonly credentials: () => Promise<Credentials>;
}

/** DynamoDB Local and its like take any key, but they want one. */
const anyCredentials = { accessKeyId: 'terse', secretAccessKey: 'terse' };
const protocol = 'DynamoDB_20120810';
/** The engine refuses requests whose time is further off. */
const skewMaxMs = 5 * 60 * 1_000;

export function createClient(address: DynamoAddress, options: ClientOptions): DynamoClient {
  const { clock, onTime } = options;
  const signer = new Signer(address.region);
  let opening: Promise<Access> | undefined;
  /** How far the engine's clock is ahead of ours, where that is too far for it to accept our signatures. */
  let skewMs = 0;

  const access = async (): Promise<Access> => {
    opening ??= openAccess(address, options.hasCredentials);
    try {
      return await opening;
    } catch (error) {
      opening = undefined;
      throw error;
    }
  };

  const noteTime = (date: string | null, sentAt: number): void => {
    const engineTime = Date.parse(date ?? '');
    if (Number.isNaN(engineTime)) return;
    onTime?.(engineTime, sentAt);
    if (Math.abs(engineTime - clock.now() - skewMs) > skewMaxMs) skewMs = engineTime - clock.now();
  };

  return {
    async send<Output>(operation: string, input: object, signal: AbortSignal): Promise<Output> {
      const { origin, credentials: current } = await access();
      const credentials = await current();
      const body = JSON.stringify(input);
      const sentAt = clock.now();
      const host = origin.slice(origin.indexOf('//') + 2);
      const target = `${protocol}.${operation}`;
      const headers = signer.headersOf({ credentials, host, target, body, now: sentAt + skewMs });
      const answer = await fetch(origin, { method: 'POST', headers, body, signal });
      if (onTime !== undefined || !answer.ok) noteTime(answer.headers.get('date'), sentAt);
      if (!answer.ok) throw new DynamoError(answer.status, await answer.text());
      return (await answer.json()) as Output;
    },
  };
}

async function openAccess(address: DynamoAddress, hasCredentials: boolean): Promise<Access> {
  const { region, endpoint } = address;
  if (endpoint !== undefined && !hasCredentials) {
    return { origin: endpoint, credentials: async () => anyCredentials };
  }
  const { DynamoDBClient, ListTablesCommand } = await import('@aws-sdk/client-dynamodb');
  let origin = '';
  const handle = async ({
    protocol,
    hostname,
    port,
  }: {
    protocol: string;
    hostname: string;
    port?: number;
  }) => {
    origin = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`;
    return { response: { statusCode: 200, headers: {}, body: new TextEncoder().encode('{}') } };
  };
  const vendor = new DynamoDBClient({
    region,
    requestHandler: { handle },
    ...(endpoint === undefined ? {} : { endpoint }),
  });
  // It goes nowhere: only the address that the request would have is of interest.
  await vendor.send(new ListTablesCommand({}));
  return { origin, credentials: vendor.config.credentials };
}

/**
 * AWS Signature Version 4 for the one kind of request that DynamoDB takes: a POST of JSON to the root of its host. The
 * key that signs is derived once a day, so a signature costs two hashes and one HMAC (ADR 30 has the measurements).
 */

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

interface SignedRequest {
  readonly credentials: Credentials;
  readonly host: string;
  readonly target: string;
  readonly body: string;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

const contentType = 'application/x-amz-json-1.0';
const algorithm = 'AWS4-HMAC-SHA256';

export class Signer {
  readonly #region: string;
  #key: { readonly day: string; readonly secret: string; readonly bytes: Buffer } | undefined;

  constructor(region: string) {
    this.#region = region;
  }

  /** The headers of the request, with its signature. */
  headersOf({ credentials, host, target, body, now }: SignedRequest): Record<string, string> {
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
    const day = time.slice(0, 8);
    const scope = `${day}/${this.#region}/dynamodb/aws4_request`;
    const headers: Record<string, string> = { 'content-type': contentType, 'x-amz-date': time };
    if (sessionToken !== undefined) headers['x-amz-security-token'] = sessionToken;
    headers['x-amz-target'] = target;
    // In the order of their names, in which `host` comes second.
    const { 'content-type': type, ...amz } = headers;
    const signed = Object.entries({ 'content-type': type, host, ...amz });
    const names = signed.map(([name]) => name).join(';');
    const lines = signed.map(([name, value]) => `${name}:${value}\n`).join('');
    const request = `POST\n/\n\n${lines}\n${names}\n${sha256(body)}`;
    const signature = createHmac('sha256', this.#keyOf(day, secretAccessKey))
      .update(`${algorithm}\n${time}\n${scope}\n${sha256(request)}`)
      .digest('hex');
    headers.authorization = `${algorithm} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
    return headers;
  }

  #keyOf(day: string, secret: string): Buffer {
    if (this.#key?.day !== day || this.#key.secret !== secret) {
      const parts = [day, this.#region, 'dynamodb', 'aws4_request'];
      const bytes = parts.reduce<Buffer>(hmac, Buffer.from(`AWS4${secret}`));
      this.#key = { day, secret, bytes };
    }
    return this.#key.bytes;
  }
}

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
