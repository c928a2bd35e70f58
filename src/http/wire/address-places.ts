/**
 * Counts who holds how many of a limited number of slots, by network. It counts connections, and request bodies that
 * have not arrived yet. One network can hold only its share, and the network that holds most is found at once, so that
 * it gives up a slot when none is left.
 *
 * An IPv4 address is a network of its own. An IPv6 address belongs to two: its /64, which one machine can use up by
 * itself, and the /48 around it, which one customer can use up.
 */
export interface Network {
  /** The IPv4 address, or the /64. */
  readonly host: string;
  /** The IPv4 address, or the /48. */
  readonly site: string;
}

/** A site may hold more than one of its hosts, because it may be many people. */
const siteFactor = 1.5;

export class AddressPlaces<Holder> {
  readonly #networks = new Map<Holder, Network>();
  /** In order of arrival. */
  readonly #holdersBySite = new Map<string, Set<Holder>>();
  /** The same for hosts that are smaller than their site. */
  readonly #holdersByHost = new Map<string, Set<Holder>>();
  /** The sites by the number of slots they hold. */
  readonly #sitesByCount: Set<string>[] = [];
  #mostCount = 0;
  readonly #sharePercent: number;

  /** `sharePercent` is the share of all slots that a host may hold. */
  constructor(sharePercent: number) {
    this.#sharePercent = sharePercent;
  }

  /** How many slots are taken in total. */
  get size(): number {
    return this.#networks.size;
  }

  /**
   * The holders if the host, or else the site, has used up its share of this many slots, the oldest first; else
   * undefined.
   */
  crowdOf({ host, site }: Network, placesMax: number): ReadonlySet<Holder> | undefined {
    const hostMax = Math.max(1, (placesMax * this.#sharePercent) / 100);
    const ofSite = this.#holdersBySite.get(site);
    if (host === site) return ofSite !== undefined && ofSite.size >= hostMax ? ofSite : undefined;
    const ofHost = this.#holdersByHost.get(host);
    if (ofHost !== undefined && ofHost.size >= hostMax) return ofHost;
    const siteMax = Math.min(placesMax, hostMax * siteFactor);
    return ofSite !== undefined && ofSite.size >= siteMax ? ofSite : undefined;
  }

  /** How many the site holds. */
  countAt(site: string): number {
    return this.#holdersBySite.get(site)?.size ?? 0;
  }

  /** The holders of the site that holds most, the oldest first. */
  get largest(): ReadonlySet<Holder> {
    const [site] = this.#sitesByCount[this.#mostCount] ?? [];
    return (site === undefined ? undefined : this.#holdersBySite.get(site)) ?? new Set();
  }

  add(holder: Holder, network: Network): void {
    const { host, site } = network;
    this.#networks.set(holder, network);
    const count = addTo(this.#holdersBySite, site, holder);
    this.#moved(site, count - 1, count);
    if (host !== site) addTo(this.#holdersByHost, host, holder);
  }

  /** Does nothing for one that holds no slot. */
  remove(holder: Holder): void {
    const network = this.#networks.get(holder);
    if (network === undefined) return;
    this.#networks.delete(holder);
    const { host, site } = network;
    const count = removeFrom(this.#holdersBySite, site, holder);
    this.#moved(site, count + 1, count);
    if (host !== site) removeFrom(this.#holdersByHost, host, holder);
  }

  #moved(site: string, before: number, after: number): void {
    this.#sitesByCount[before]?.delete(site);
    if (after > 0) {
      this.#sitesByCount[after] ??= new Set();
      this.#sitesByCount[after].add(site);
    }
    if (after > this.#mostCount) this.#mostCount = after;
    else if (before === this.#mostCount && this.#sitesByCount[before]?.size === 0) this.#mostCount = after;
  }
}

/** Returns the new number. */
function addTo<Holder>(sets: Map<string, Set<Holder>>, name: string, holder: Holder): number {
  let holders = sets.get(name);
  if (holders === undefined) {
    holders = new Set();
    sets.set(name, holders);
  }
  return holders.add(holder).size;
}

/** Returns how many are left. */
function removeFrom<Holder>(sets: Map<string, Set<Holder>>, name: string, holder: Holder): number {
  const holders = sets.get(name)!;
  holders.delete(holder);
  if (holders.size === 0) sets.delete(name);
  return holders.size;
}
