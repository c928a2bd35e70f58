/**
 * Groups of addresses that limits count as one client, and ranges of addresses. An IPv4 address is a group of its own.
 * IPv6 addresses are grouped by their first 64 bits, because a client that has one address of a /64 has all of them and
 * could use another one for every request. A provider commonly gives a customer a /48, which is 65,536 such networks,
 * so limits count these as well.
 */
import { BlockList, isIP } from 'node:net';

/** The same strings for all addresses of one group. Text that is not an address is its own group. */
export function addressGroups(address: string): { host: string; site: string } {
  if (!address.includes(':') || isIP(address) !== 6) return { host: address, site: address };
  const groups = groupsOf(address.split('%')[0]!);
  if (isMappedIpv4(groups)) {
    const ipv4 = `${groups[6]! >> 8}.${groups[6]! & 255}.${groups[7]! >> 8}.${groups[7]! & 255}`;
    return { host: ipv4, site: ipv4 };
  }
  const site = `${groups[0]!.toString(16)}:${groups[1]!.toString(16)}:${groups[2]!.toString(16)}`;
  return { host: `${site}:${groups[3]!.toString(16)}::/64`, site: `${site}::/48` };
}

/** The smaller of the two groups, for limits that count only by that one. */
export const addressGroup = (address: string): string => addressGroups(address).host;

function isMappedIpv4(groups: readonly number[]): boolean {
  for (let index = 0; index < 5; index += 1) if (groups[index] !== 0) return false;
  return groups[5] === 0xffff;
}

/** The eight numbers of an IPv6 address, in any notation. */
function groupsOf(text: string): number[] {
  const [head = '', tail = ''] = text.split('::');
  const [before, after] = [numbersOf(head), numbersOf(tail)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** The end may be written as an IPv4 address, which is two groups. */
function numbersOf(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap(piece => {
    if (!piece.includes('.')) return [Number.parseInt(piece, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = piece.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

/** Whether an address is in one of these CIDR ranges, such as `10.0.0.0/8`. */
export function createTrust(ranges: readonly string[]): (address: string) => boolean {
  const trusted = new BlockList();
  for (const range of ranges) {
    const [address = '', bits = ''] = range.split('/');
    trusted.addSubnet(address, Number(bits), familyOf(address));
  }
  return address => isIP(address) !== 0 && trusted.check(address, familyOf(address));
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4');
