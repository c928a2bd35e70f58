/**
 * Who holds how many of a limited number of places, by network. Connections are counted by it, and so are request
 * bodies that are still to come. One network can hold only its share, and the one that holds most is found at once,
 * so that it is the one to give a place up when there are none left.
 *
 * An IPv4 address is a network of its own. An IPv6 address belongs to two: its /64, which one machine can use up by
 * itself, and the /48 around it, which one customer can.
 */
export interface Network {
  /** The IPv4 address, or the /64. */
  readonly host: string;
  /** The IPv4 address, or the /48. */
  readonly site: string;
}

/** A site is allowed more than one of its hosts, because it may be many people. */
const siteFactor = 1.5;

export class AddressPlaces<Holder> {
  readonly #networks = new Map<Holder, Network>();
  /** In the order in which they came. */
  readonly #holdersBySite = new Map<string, Set<Holder>>();
  /** Only where a host is not the whole of its site. */
  readonly #countByHost = new Map<string, number>();
  /** The sites that hold so many places, by that number. */
  readonly #sitesByCount: Set<string>[] = [];
  #mostCount = 0;
  readonly #sharePercent: number;

  /** `sharePercent` is what a host may hold of all places. */
  constructor(sharePercent: number) {
    this.#sharePercent = sharePercent;
  }

  /** How many are held by all. */
  get size(): number {
    return this.#networks.size;
  }

  /** Whether the network holds all that it may of so many places. */
  isFull({ host, site }: Network, placesMax: number): boolean {
    const hostMax = Math.max(1, (placesMax * this.#sharePercent) / 100);
    if (host === site) return this.countAt(site) >= hostMax;
    const siteMax = Math.min(placesMax, hostMax * siteFactor);
    return (this.#countByHost.get(host) ?? 0) >= hostMax || this.countAt(site) >= siteMax;
  }

  /** How many the site holds. */
  countAt(site: string): number {
    return this.#holdersBySite.get(site)?.size ?? 0;
  }

  /** Those of one site, the oldest first. */
  holdersAt(site: string): ReadonlySet<Holder> {
    return this.#holdersBySite.get(site) ?? new Set();
  }

  /** Those of the site that holds most, the oldest first. */
  get largest(): ReadonlySet<Holder> {
    const [site] = this.#sitesByCount[this.#mostCount] ?? [];
    return site === undefined ? new Set() : this.holdersAt(site);
  }

  add(holder: Holder, network: Network): void {
    const { host, site } = network;
    this.#networks.set(holder, network);
    let holders = this.#holdersBySite.get(site);
    if (holders === undefined) {
      holders = new Set();
      this.#holdersBySite.set(site, holders);
    }
    holders.add(holder);
    this.#moved(site, holders.size - 1, holders.size);
    if (host !== site) this.#countByHost.set(host, (this.#countByHost.get(host) ?? 0) + 1);
  }

  /** Does nothing for one that holds no place. */
  remove(holder: Holder): void {
    const network = this.#networks.get(holder);
    if (network === undefined) return;
    this.#networks.delete(holder);
    const { host, site } = network;
    const holders = this.#holdersBySite.get(site)!;
    holders.delete(holder);
    if (holders.size === 0) this.#holdersBySite.delete(site);
    this.#moved(site, holders.size + 1, holders.size);
    if (host === site) return;
    const left = (this.#countByHost.get(host) ?? 1) - 1;
    if (left > 0) this.#countByHost.set(host, left);
    else this.#countByHost.delete(host);
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
