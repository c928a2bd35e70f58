/**
 * Whose request it is. The peer of the connection, unless that is a proxy the operator trusts: then the last
 * address in X-Forwarded-For that no trusted proxy wrote. Anyone may send that header; only trusted peers are
 * believed. Some proxies write the client's port as well.
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
    const hops = (headers.get('x-forwarded-for') ?? '').split(',').slice(-hopsMax).map(addressIn);
    let client = peer;
    for (const hop of hops.reverse()) {
      if (hop === undefined) break;
      client = hop;
      if (!isTrusted(hop)) break;
    }
    return client;
  };
}

const withPort = /^(\d[\d.]*):\d{1,5}$/;
const inBrackets = /^\[([\da-f:.]+)\](?::\d{1,5})?$/i;

/** The address of `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`, also in quotes. */
function addressIn(hop: string): string | undefined {
  const text = hop.trim().replace(/^"(.*)"$/, '$1');
  if (isIP(text) !== 0) return text;
  const [, address = ''] = withPort.exec(text) ?? inBrackets.exec(text) ?? [];
  return isIP(address) === (text.startsWith('[') ? 6 : 4) ? address : undefined;
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4');
