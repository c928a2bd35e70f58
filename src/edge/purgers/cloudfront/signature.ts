/**
 * Signature Version 4, by which AWS knows who sends a request and that nobody changed it: a hash over the request in one
 * agreed spelling, signed by a key made of the secret, the day, the region and the service.
 */
import { createHash, createHmac } from 'node:crypto';

export interface SigningKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface UnsignedRequest {
  readonly method: string;
  /** Its path and query must be spelled as they are signed, which is so for letters, digits and `-._~/`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface SigningScope {
  readonly region: string;
  readonly service: string;
  readonly at: number;
}

const algorithm = 'AWS4-HMAC-SHA256';

/** The headers to send: those given, and what the signature adds. */
export function signedHeaders(
  request: UnsignedRequest,
  keys: SigningKeys,
  { region, service, at }: SigningScope,
): Record<string, string> {
  const time = new Date(at).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const { host, pathname, searchParams } = new URL(request.url);
  const headers: Record<string, string> = {
    ...lowerCased(request.headers),
    'x-amz-date': time,
    ...(keys.sessionToken !== undefined && { 'x-amz-security-token': keys.sessionToken }),
  };
  const signing: [name: string, value: string][] = Object.entries({ ...headers, host }).sort(byName);
  const names = signing.map(([name]) => name).join(';');
  const canonical = [
    request.method,
    pathname,
    [...searchParams]
      .sort(byName)
      .map(pair => pair.map(encodeURIComponent).join('='))
      .join('&'),
    ...signing.map(([name, value]) => `${name}:${value.trim().replace(/ +/g, ' ')}`),
    '',
    names,
    sha256(request.body),
  ].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const signed = [algorithm, time, scope, sha256(canonical)].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${keys.secretAccessKey}`,
  );
  const signature = hmac(key, signed).toString('hex');
  const credential = `${keys.accessKeyId}/${scope}`;
  return {
    ...headers,
    authorization: `${algorithm} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

const byName = ([a]: readonly [string, string], [b]: readonly [string, string]): number => (a < b ? -1 : 1);

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
