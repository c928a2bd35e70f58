/**
 * Addresses as the steps see them. A dual-stack listener reports an IPv4 visitor inside IPv6, `::ffff:192.0.2.1`;
 * the visitor and the visitor's country must not depend on which kind of socket was listening.
 */
const mappedInHex = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

export function canonicalAddress(address: string): string {
  if (!address.includes(':')) return address;
  const lower = address.toLowerCase();
  if (!lower.startsWith('::ffff:')) return lower;
  if (lower.includes('.')) return lower.slice('::ffff:'.length);
  const groups = mappedInHex.exec(lower);
  if (groups === null) return lower;
  const [high, low] = [Number.parseInt(groups[1]!, 16), Number.parseInt(groups[2]!, 16)];
  return `${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}`;
}

/** This network, private use, shared by a carrier, loopback, link-local, multicast and reserved. */
const notGlobalIpv4 =
  /^(?:0|10|127|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])|169\.254|172\.(?:1[6-9]|2\d|3[01])|192\.168|22[4-9]|2[3-5]\d)\./;
/** Unspecified and loopback, unique local, link-local, multicast, documentation. */
const notGlobalIpv6 = /^(?:::1?$|f[cd]|fe[89ab]|ff|2001:0?db8:)/;

/** Whether a canonical address can be somewhere: one that is used in many networks at once is nowhere. */
export function isGlobalAddress(address: string): boolean {
  return !(address.includes(':') ? notGlobalIpv6 : notGlobalIpv4).test(address);
}
