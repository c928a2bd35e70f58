/** Purges through Fastly's API: many keys in one call, effective everywhere at once, or the whole service. */
import type { Clock } from '../../base/clock.ts';
import type { PurgeAddress } from '../../config/purge-address.ts';
import { createExchange, isTaken, PurgeFailed, type Purger } from '../purger.ts';

export interface FastlyOptions {
  readonly address: Extract<PurgeAddress, { readonly kind: 'fastly' }>;
  /** An API token that may purge this service. */
  readonly token: string;
  readonly clock: Clock;
}

/** The maximum that the API accepts in one call. */
const codesMax = 256;

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
    codesMax,
    purge: codes => post('purge', JSON.stringify({ surrogate_keys: codes })),
    purgeAll: () => post('purge_all', undefined),
  };
}
