/**
 * Whose request it is. The peer of the connection, unless that is a proxy the operator trusts: then the last
 * address in X-Forwarded-For that no trusted proxy wrote. Anyone may send that header; only trusted peers are
 * believed.
 */
import { BlockList, isIP } from 'node:net';

export type ClientAddress = (peer: string, headers: Pick<Headers, 'get'>) => string;

const hopsMax = 32;

/** Whether an address is in one of these CIDR ranges, such as `10.0.0.0/8`. */
export function createTrust(ranges: readonly string[]): (address: string) => boolean {
  const trusted = new BlockList();
  for (const range of ranges) {
    const [address = '', bits = ''] = range.split('/');
    trusted.addSubnet(address, Number(bits), familyOf(address));
  }
  return address => isIP(address) !== 0 && trusted.check(address, familyOf(address));
}

export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  if (trustedProxies.length === 0) return peer => peer;
  const isTrusted = createTrust(trustedProxies);
  return (peer, headers) => {
    if (!isTrusted(peer)) return peer;
    const hops = (headers.get('x-forwarded-for') ?? '')
      .split(',')
      .slice(-hopsMax)
      .map(hop => hop.trim());
    let client = peer;
    for (const hop of hops.reverse()) {
      if (isIP(hop) === 0) break;
      client = hop;
      if (!isTrusted(hop)) break;
    }
    return client;
  };
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4');
