/**
 * Recognises our own hosts, so that a short link never leads to a short link and on in a loop. A machine has more names
 * than the configured one: the root dot, IPv4 inside IPv6, and every loopback spelling once we listen on one of them.
 * Ports are ignored, because the same machine often serves several.
 */
export interface OwnHosts {
  /** Takes a host as the WHATWG parser serialises it. */
  has(hostname: string): boolean;
}

/** Hosts may carry a port and any spelling that the parser accepts; any other is a mistake. */
export function createOwnHosts(hosts: readonly string[]): OwnHosts {
  const identities = new Set<string>();
  for (const host of hosts) {
    const parsed = URL.parse(`http://${host}/`);
    if (parsed === null) throw new Error(`"${host}" is not a host name`);
    identities.add(identityOf(parsed.hostname));
  }
  const ownsLoopback = [...identities].some(isLoopback);
  return {
    has(hostname) {
      const identity = identityOf(hostname);
      return identities.has(identity) || (ownsLoopback && isLoopback(identity));
    },
  };
}

/** A serialised host that ends in a number is always a dotted quad. */
export function isIpv4Literal(hostname: string): boolean {
  return /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
}

function identityOf(hostname: string): string {
  if (hostname.startsWith('[')) return ipv4Within(hostname) ?? hostname;
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

/**
 * `[::ffff:7f00:1]` is how 127.0.0.1 looks inside IPv6, and a browser connects to the latter; so it does with
 * `[64:ff9b::…]` wherever a network translates between the two. Undefined for a genuine IPv6 address.
 */
export function ipv4Within(hostname: string): string | undefined {
  const groups = /^\[(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(hostname);
  if (groups === null) return undefined;
  const high = Number.parseInt(groups[1]!, 16);
  const low = Number.parseInt(groups[2]!, 16);
  return `${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}`;
}

/** The unspecified address counts too: connecting to it reaches the same machine. */
function isLoopback(identity: string): boolean {
  if (identity.startsWith('[')) return identity === '[::1]' || identity === '[::]';
  if (isIpv4Literal(identity)) return identity.startsWith('127.') || identity === '0.0.0.0';
  return identity === 'localhost' || identity.endsWith('.localhost');
}
