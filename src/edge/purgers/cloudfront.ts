/**
 * Purges as invalidations of CloudFront. An accepted invalidation reaches the edges within seconds to minutes; no call
 * waits for that. Paths are exact, because only few with a wildcard may be in progress: CloudFront's cache key must not
 * include the query (docs/operations/edge.md).
 */
import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import type { Clock } from '../../base/clock.ts';
import type { PurgeAddress } from '../../config/purge-address.ts';
import { createExchange, type EdgeRequest, isTaken, PurgeFailed, type Purger } from '../purger.ts';

export interface SigningKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary keys. */
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
