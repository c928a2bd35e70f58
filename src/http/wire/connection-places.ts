/**
 * Limits who may be connected. There is a cap in total and one for each network. A connection beyond it replaces one
 * that has only been waiting, or one of the network that has most of them. If neither is possible it is restricted:
 * only a health check is answered on it, and everything else gets 503. So neither idle clients nor many connections
 * from one network keep others out.
 */
import { atEndOfTurn } from '../../base/clock.ts';
import { AddressPlaces, type Network } from './address-places.ts';
import type { Connection } from './connection.ts';

interface ConnectionPlacesOptions {
  readonly connectionsMax: number;
  /** Connections beyond that whose request is still read before they are closed. */
  readonly reserveMax: number;
  /** The share of all connections that one host may have. */
  readonly sharePercent: number;
  /** A connection without a network counts in the total, but in no share. */
  readonly networkOf: (connection: Connection) => Network | undefined;
  readonly counts: {
    /** Connections that were evicted for a new one. */
    evicted: number;
    /** Connections for which none could be evicted. */
    rejected: number;
  };
}

/** How many connections are examined to find one to evict. */
const evictionTries = 64;
/** Connections of the reserve that may stay once their requests have been read. */
const lingeringMax = 500;

export class ConnectionPlaces {
  readonly #options: ConnectionPlacesOptions;
  readonly #connections = new Set<Connection>();
  /** Connections beyond the cap and evicted ones, the oldest first; they take no slot. */
  readonly #reserve = new Set<Connection>();
  /** Counted only while there are so many connections that a network could have used up its share. */
  #byNetwork: AddressPlaces<Connection> | undefined;
  /** The number of connections from which networks are counted. */
  readonly #countedFrom: number;
  /** Round robin, so that the search for an idle connection does not start with the same busy ones. */
  #candidates: Iterator<Connection>;
  #isTrimming = false;

  constructor(options: ConnectionPlacesOptions) {
    this.#options = options;
    this.#countedFrom = (options.connectionsMax * options.sharePercent) / 100 / 2;
    this.#candidates = this.#connections.values();
  }

  /** Connections that have a slot. */
  get connections(): ReadonlySet<Connection> {
    return this.#connections;
  }

  /** Connections without a slot, which are about to close. */
  get reserve(): ReadonlySet<Connection> {
    return this.#reserve;
  }

  add(connection: Connection): void {
    const byNetwork = this.#networks;
    if (byNetwork === undefined) {
      this.#connections.add(connection);
      return;
    }
    const network = this.#options.networkOf(connection);
    if (!this.#makeRoom(byNetwork, network)) {
      this.#restrict(connection);
      return;
    }
    this.#connections.add(connection);
    if (network !== undefined) byNetwork.add(connection, network);
  }

  /** The client behind a proxy's connection has become known: it counts for its own network from now on. */
  assign(connection: Connection): void {
    const byNetwork = this.#networks;
    const network = byNetwork && this.#options.networkOf(connection);
    if (network === undefined) return;
    if (this.#connections.has(connection)) {
      // It may have been counted just now, with the others.
      byNetwork!.remove(connection);
      const crowd = this.#crowdOf(byNetwork!, network);
      if (crowd === undefined || this.#evictOne(crowd.values())) byNetwork!.add(connection, network);
      else {
        this.#connections.delete(connection);
        this.#restrict(connection);
      }
    } else if (this.#reserve.has(connection) && this.#makeRoom(byNetwork!, network)) {
      // There was no slot while its client was unknown, but there is one for this client.
      this.#reserve.delete(connection);
      connection.restrict(false);
      this.#connections.add(connection);
      byNetwork!.add(connection, network);
    }
  }

  remove(connection: Connection): void {
    this.#leave(connection);
    this.#reserve.delete(connection);
    // Half of the number at which counting begins, so that counting does not start and stop again and again.
    if (this.#connections.size < this.#countedFrom / 2) this.#byNetwork = undefined;
  }

  /** The networks of all connections; undefined while there are too few connections to tell them apart. */
  get #networks(): AddressPlaces<Connection> | undefined {
    if (this.#byNetwork !== undefined || this.#connections.size < this.#countedFrom) return this.#byNetwork;
    const { networkOf, sharePercent } = this.#options;
    this.#byNetwork = new AddressPlaces(sharePercent);
    for (const connection of this.#connections) {
      const network = networkOf(connection);
      if (network !== undefined) this.#byNetwork.add(connection, network);
    }
    return this.#byNetwork;
  }

  /** Whether there is a slot for one more of this network, after an eviction if needed. */
  #makeRoom(byNetwork: AddressPlaces<Connection>, network: Network | undefined): boolean {
    const crowd = network && this.#crowdOf(byNetwork, network);
    if (crowd !== undefined) return this.#evictOne(crowd.values());
    if (this.#connections.size < this.#options.connectionsMax) return true;
    const { largest } = byNetwork;
    const isOutnumbered = network !== undefined && largest.size > byNetwork.countAt(network.site) + 1;
    return isOutnumbered ? this.#evictFrom(largest) : this.#evictOne(this.#roundRobin());
  }

  #crowdOf(byNetwork: AddressPlaces<Connection>, network: Network): ReadonlySet<Connection> | undefined {
    return byNetwork.crowdOf(network, this.#options.connectionsMax);
  }

  #restrict(connection: Connection): void {
    this.#options.counts.rejected += 1;
    connection.restrict(true);
    this.#addToReserve(connection);
  }

  /**
   * The oldest in the reserve is closed for the newest: a client that sends at once is answered, however many others
   * wait. None is closed in the turn in which it was accepted: after a pause of this process there are many connections
   * to accept, and their bytes are read in the next turn.
   */
  #addToReserve(connection: Connection): void {
    this.#reserve.add(connection);
    const [oldest] = this.#reserve;
    if (this.#reserve.size > this.#options.reserveMax) this.#end(oldest!);
    if (this.#reserve.size <= this.#lingeringMax || this.#isTrimming) return;
    this.#isTrimming = true;
    atEndOfTurn(() => {
      const newest = [...this.#reserve].at(-1);
      // After the turn that reads.
      atEndOfTurn(() => this.#trimReserve(newest));
    });
  }

  /** Connections up to `newest` have been read; one of them that is being answered is a health check. */
  #trimReserve(newest: Connection | undefined): void {
    this.#isTrimming = false;
    for (const connection of this.#reserve) {
      if (this.#reserve.size <= this.#lingeringMax) return;
      if (connection.isWaiting) this.#end(connection);
      if (connection === newest) return;
    }
  }

  get #lingeringMax(): number {
    return Math.min(lingeringMax, this.#options.connectionsMax / 4);
  }

  #end(connection: Connection): void {
    this.#reserve.delete(connection);
    connection.terminate();
  }

  /** Ends one of a network that has too many: a waiting one if possible, otherwise its oldest. */
  #evictFrom(holders: ReadonlySet<Connection>): boolean {
    let tries = 0;
    for (const candidate of holders) {
      if (candidate.isWaiting) return this.#evict(candidate);
      tries += 1;
      if (tries === evictionTries) break;
    }
    const [oldest] = holders;
    return oldest !== undefined && this.#evict(oldest);
  }

  /**
   * Ends one that has waited long enough, or at least one that stalls in the middle of a request. Not one that has just
   * connected: in a rush every new connection would evict another whose request is on its way, and no client would be
   * served.
   */
  #evictOne(candidates: Iterator<Connection, unknown>): boolean {
    let secondChoice: Connection | undefined;
    for (let tries = 0; tries < evictionTries; tries += 1) {
      const { value: candidate, done } = candidates.next();
      if (done) break;
      if (candidate.isEvictable) return this.#evict(candidate);
      if (candidate.isStalled) secondChoice ??= candidate;
    }
    return secondChoice !== undefined && this.#evict(secondChoice);
  }

  *#roundRobin(): Generator<Connection> {
    for (;;) {
      const candidate = this.#nextCandidate();
      if (candidate === undefined) return;
      yield candidate;
    }
  }

  #nextCandidate(): Connection | undefined {
    const { value, done } = this.#candidates.next();
    if (!done) return value;
    this.#candidates = this.#connections.values();
    return this.#candidates.next().value;
  }

  #evict(connection: Connection): true {
    this.#options.counts.evicted += 1;
    this.#leave(connection);
    this.#addToReserve(connection);
    connection.evict();
    return true;
  }

  #leave(connection: Connection): void {
    this.#connections.delete(connection);
    this.#byNetwork?.remove(connection);
  }
}

/** Shared by all clients whose network is unknown. */
const unknownNetwork: Network = { host: '', site: '' };

/**
 * Requests whose body has not arrived yet. Each costs a slot and no work, so they are limited separately from requests
 * in progress: in total and for each network. One beyond the limit is not rejected, because its body may arrive at
 * once. Instead the oldest one still missing is given up, of the same network or of the one that has most.
 */
export class AwaitedBodies {
  readonly #places: AddressPlaces<Connection>;
  readonly #bodiesMax: number;
  /** Bodies that were given up in favour of newer ones. */
  givenUp = 0;

  constructor(bodiesMax: number, sharePercent: number) {
    this.#bodiesMax = bodiesMax;
    this.#places = new AddressPlaces(sharePercent);
  }

  begin(connection: Connection, network = unknownNetwork): void {
    const crowd = network === unknownNetwork ? undefined : this.#places.crowdOf(network, this.#bodiesMax);
    if (crowd !== undefined) this.#giveUpOldest(crowd);
    else if (this.#places.size >= this.#bodiesMax) this.#giveUpOldest(this.#places.largest);
    this.#places.add(connection, network);
  }

  end(connection: Connection): void {
    this.#places.remove(connection);
  }

  #giveUpOldest(holders: ReadonlySet<Connection>): void {
    const [oldest] = holders;
    if (oldest === undefined) return;
    this.givenUp += 1;
    this.#places.remove(oldest);
    oldest.giveUpBody();
  }
}
