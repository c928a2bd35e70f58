/**
 * AWS Signature Version 4 for the one kind of request that DynamoDB takes: a POST of JSON to the root of its host. The
 * key that signs is derived once a day, so a signature costs two hashes and one HMAC (ADR 30 has the measurements).
 */
import { createHash, createHmac } from 'node:crypto';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface SignedRequest {
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
