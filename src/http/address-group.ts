/**
 * Who counts as one where addresses are limited. An IPv4 address is one; of an IPv6 address the first 64 bits are,
 * because whoever has one of them has all the others and could change with every request.
 */
import { isIP } from 'node:net';

/** The same text for all addresses of one group. What is no address stands for itself. */
export function addressGroup(address: string): string {
  if (!address.includes(':') || isIP(address) !== 6) return address;
  const groups = groupsOf(address.split('%')[0]!);
  const isIpv4 = groups[5] === 0xffff && groups.slice(0, 5).every(group => group === 0);
  if (isIpv4) return [groups[6]! >> 8, groups[6]! & 255, groups[7]! >> 8, groups[7]! & 255].join('.');
  const network = groups.slice(0, 4).map(group => group.toString(16));
  return `${network.join(':')}::/64`;
}

/** The eight numbers of an IPv6 address, however it is written. */
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
