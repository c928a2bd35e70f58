/** Picks the purger of an address in `TERSE_EDGE_PURGE`. */

import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import type { Clock } from '../../base/clock.ts';
import { inParallel } from '../../base/in-parallel.ts';
import { type PurgeAddress, parsePurgeAddress, urlOfCode } from '../../config/purge-address.ts';
import {
  answerMaxMs,
  createExchange,
  type EdgeRequest,
  isTaken,
  PurgeFailed,
  type Purger,
} from '../purger.ts';

export interface PurgerOptions {
  readonly token: string | undefined;
  /** Keys to AWS, which CloudFront needs. */
  readonly keys: SigningKeys | undefined;
  readonly clock: Clock;
}

export function openPurger(text: string, { token, keys, clock }: PurgerOptions): Purger {
  const address = parsePurgeAddress(text);
  if (address.kind === 'fastly') return createFastlyPurger({ address, token: token ?? '', clock });
  if (address.kind === 'cloudfront') {
    if (keys === undefined) throw new Error('CloudFront needs keys');
    return createCloudFrontPurger({ address, keys, clock });
  }
  return createHookPurger({ address, token, clock });
}

interface FastlyOptions {
  readonly address: Extract<PurgeAddress, { readonly kind: 'fastly' }>;
  /** An API token that may purge this service. */
  readonly token: string;
  readonly clock: Clock;
}

/** The maximum that the API accepts in one call. */
const fastlyCodesMax = 256;

export function createFastlyPurger({ address, token, clock }: FastlyOptions): Purger {
  const exchange = createExchange(clock);
  const { service, endpoint } = address;
  const post = async (path: string, body: string | undefined): Promise<void> => {
    const answer = await exchange({
      method: 'POST',
      url: `${endpoint}/service/${service}/${path}`,
      headers: {
        Accept: 'application/json',
        'Fastly-Key': token,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
    });
    if (!isTaken(answer)) throw new PurgeFailed(`Fastly answered a purge with ${answer.status}`);
  };
  return {
    name: `fastly ${service}`,
    codesMax: fastlyCodesMax,
    purge: codes => post('purge', JSON.stringify({ surrogate_keys: codes })),
    purgeAll: () => post('purge_all', undefined),
  };
}

interface HookOptions {
  readonly address: Extract<PurgeAddress, { readonly kind: 'keys' | 'paths' }>;
  /** Sent as `Authorization: Bearer`. */
  readonly token: string | undefined;
  readonly clock: Clock;
  readonly maxMs?: number;
}

/** A hundred of the longest codes stay within the 8 KB that servers allow a header by default. */
const hookCodesMax = 100;
const pathsAtOnce = 8;
const everything = '*';

export function createHookPurger({ address, token, clock, maxMs = answerMaxMs }: HookOptions): Purger {
  const exchange = createExchange(clock, maxMs);
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const { url } = address;
  const name = new URL(urlOfCode(url, '')).host;

  if (address.kind === 'paths') {
    return {
      name,
      codesMax: hookCodesMax,
      purge: codes =>
        inParallel(codes.length, pathsAtOnce, async index => {
          const answer = await exchange({
            method: 'PURGE',
            url: urlOfCode(url, codes[index]!),
            headers: authorization,
          });
          if (!isTaken(answer) && answer.status !== 404) throw refused(answer.status);
        }),
    };
  }
  const purge = async (codes: readonly string[]): Promise<void> => {
    const headers = { ...authorization, 'Surrogate-Key': codes.join(' ') };
    const answer = await exchange({ method: 'PURGE', url, headers });
    if (!isTaken(answer)) throw refused(answer.status);
  };
  return { name, codesMax: hookCodesMax, purge, purgeAll: () => purge([everything]) };
}

const refused = (status: number): PurgeFailed => new PurgeFailed(`the edge answered a purge with ${status}`);

export interface SigningKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Only with temporary keys. */
  readonly sessionToken?: string;
}

export interface CloudFrontOptions {
  readonly address: Extract<PurgeAddress, { readonly kind: 'cloudfront' }>;
  readonly keys: SigningKeys;
  readonly clock: Clock;
}

/** A distribution has at most 3,000 paths in progress, over all its invalidations. */
const codesMax = 500;
/** CloudFront is a global service, and its requests are signed for this region. */
const region = 'us-east-1';
const version = '2020-05-31';

/**
 * Purges as invalidations of CloudFront. An accepted invalidation reaches the edges within seconds to minutes; no call
 * waits for that. Paths are exact, because only few with a wildcard may be in progress: CloudFront's cache key must not
 * include the query (docs/operations/edge.md).
 */
export function createCloudFrontPurger({ address, keys, clock }: CloudFrontOptions): Purger {
  const exchange = createExchange(clock);
  const { distribution, endpoint } = address;
  const invalidate = async (paths: readonly string[]): Promise<void> => {
    const request = {
      method: 'POST',
      url: `${endpoint}/${version}/distribution/${distribution}/invalidation`,
      headers: { 'Content-Type': 'text/xml' },
      body: batchOf(paths, clock.now()),
    };
    const headers = await signedHeaders(request, keys, clock.now());
    const answer = await exchange({ ...request, headers });
    if (isTaken(answer)) return;
    const code = /<Code>(\w{1,64})<\/Code>/.exec(answer.text)?.[1] ?? `status ${answer.status}`;
    throw new PurgeFailed(`CloudFront refused an invalidation: ${code}`);
  };
  return {
    name: `cloudfront ${distribution}`,
    codesMax,
    purge: codes => invalidate(codes.map(code => `/${code}`)),
    purgeAll: () => invalidate(['/*']),
  };
}

/** Codes are letters, digits, `-` and `_`, so nothing needs escaping. The reference is the caller's own name for it. */
function batchOf(paths: readonly string[], now: number): string {
  const reference = `terse-${now}-${createHash('sha256').update(paths.join(' ')).digest('hex').slice(0, 16)}`;
  return (
    `<?xml version="1.0" encoding="UTF-8"?>` +
    `<InvalidationBatch xmlns="http://cloudfront.amazonaws.com/doc/${version}/">` +
    `<Paths><Quantity>${paths.length}</Quantity><Items>` +
    paths.map(path => `<Path>${path}</Path>`).join('') +
    `</Items></Paths><CallerReference>${reference}</CallerReference></InvalidationBatch>`
  );
}

/** The headers to send: the given ones, and those that the signature adds. */
export async function signedHeaders(
  request: EdgeRequest,
  keys: SigningKeys,
  now: number,
): Promise<Record<string, string>> {
  const datetime = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const signer = new AwsV4Signer({
    ...request,
    ...keys,
    service: 'cloudfront',
    region,
    datetime,
    allHeaders: true,
  });
  return Object.fromEntries((await signer.sign()).headers);
}
