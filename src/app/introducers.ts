/** Who has to say for whom it speaks before anything else: the trusted proxies, where the settings ask it of them. */
import { createTrust } from '../http/client-address.ts';
import type { Config } from './config.ts';

export function introducersOf({
  proxyProtocol,
  trustedProxies,
}: Pick<Config, 'proxyProtocol' | 'trustedProxies'>): ((address: string) => boolean) | undefined {
  return proxyProtocol ? createTrust(trustedProxies) : undefined;
}
