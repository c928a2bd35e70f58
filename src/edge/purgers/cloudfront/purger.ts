/**
 * Purges as invalidations of CloudFront. An invalidation that was taken reaches the edges within seconds to minutes; no
 * call waits for that. Paths are exact, because only few with a wildcard may be under way: what CloudFront keeps must not
 * depend on the query (docs/operations/edge.md).
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import type { PurgeAddress } from '../../purge-address.ts';
import { PurgeFailed, type Purger } from '../../purger.ts';
import { createExchange, isTaken } from '../exchange.ts';
import { type SigningKeys, signedHeaders } from './signature.ts';

export interface CloudFrontOptions {
  readonly address: Extract<PurgeAddress, { readonly kind: 'cloudfront' }>;
  readonly keys: SigningKeys;
  readonly clock: Clock;
}

/** A distribution has at most 3,000 paths under way, of all its invalidations. */
const codesMax = 500;
/** CloudFront is one service for the whole world, and its requests are signed for this region. */
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
    const headers = signedHeaders(request, keys, { region, service: 'cloudfront', at: clock.now() });
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
