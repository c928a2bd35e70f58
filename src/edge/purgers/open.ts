/** Picks the purger of an address in `TERSE_EDGE_PURGE`. */
import type { Clock } from '../../base/clock.ts';
import { parsePurgeAddress } from '../../config/purge-address.ts';
import type { Purger } from '../purger.ts';
import { createCloudFrontPurger, type SigningKeys } from './cloudfront.ts';
import { createFastlyPurger } from './fastly.ts';
import { createHookPurger } from './hook.ts';

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
