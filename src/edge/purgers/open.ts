/** Picks the purger of an address in `TERSE_EDGE_PURGE`. */
import type { Clock } from '../../base/clock.ts';
import { inParallel } from '../../base/in-parallel.ts';
import { type PurgeAddress, parsePurgeAddress, urlOfCode } from '../../config/purge-address.ts';
import { answerMaxMs, createExchange, isTaken, PurgeFailed, type Purger } from '../purger.ts';
import { createCloudFrontPurger, type SigningKeys } from './cloudfront.ts';

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
