/**
 * Who may be connected. There is a cap in all and one for each network. One too many takes the place of one that has only
 * been waiting, or of one of the network that has most of them. Where neither helps it is restricted: only a health
 * check is answered on it, and everything else with 503. So neither idle clients nor a crowd from one network keep
 * others out.
 */
import { AddressPlaces, type Network } from './address-places.ts';
import type { Connection } from './connection.ts';

export interface ConnectionPlacesOptions {
  readonly connectionsMax: number;
  /** What one host may have of all connections. */
  readonly sharePercent: number;
  readonly counts: {
    /** Connections that were closed in favour of a new one. */
    evicted: number;
    /** Connections for which nobody could be closed. */
    turnedAway: number;
  };
}

/** Connections looked at for one to close in favour of a new one. */
const evictionTries = 64;
/** Connections beyond the cap, which are asked what they want; fewer where few are let in, for want of descriptors. */
const reserveMax = 500;

export class ConnectionPlaces {
  readonly #options: ConnectionPlacesOptions;
  readonly #connections = new Set<Connection>();
  /** Those beyond the cap and those that had to make room, the oldest first; they take nobody's place. */
  readonly #reserve = new Set<Connection>();
  readonly #byNetwork: AddressPlaces<Connection>;
  /** Goes round and round, so that the search for an idle connection does not start with the same busy ones. */
  #candidates: Iterator<Connection>;

  constructor(options: ConnectionPlacesOptions) {
    this.#options = options;
    this.#byNetwork = new AddressPlaces(options.sharePercent);
    this.#candidates = this.#connections.values();
  }

  /** Those that have a place. */
  get connections(): ReadonlySet<Connection> {
    return this.#connections;
  }

  /** Those that have none, and are about to leave. */
  get reserve(): ReadonlySet<Connection> {
    return this.#reserve;
  }

  /** Without a network a connection counts among all, but for no share. */
  add(connection: Connection, network: Network | undefined): void {
    if (!this.#makeRoom(network)) {
      this.#restrict(connection);
      return;
    }
    this.#connections.add(connection);
    if (network !== undefined) this.#byNetwork.add(connection, network);
  }

  /** The client of a proxy's connection has become known: it counts for its own network from now on. */
  assign(connection: Connection, network: Network | undefined): void {
    if (network === undefined) return;
    if (this.#connections.has(connection)) {
      const crowd = this.#crowdOf(network);
      if (crowd === undefined || this.#evictOne(crowd.values())) this.#byNetwork.add(connection, network);
      else {
        this.#connections.delete(connection);
        this.#restrict(connection);
      }
    } else if (this.#reserve.has(connection) && this.#makeRoom(network)) {
      // There was no place for one that nothing was known of, but there is for this one.
      this.#reserve.delete(connection);
      connection.restrict(false);
      this.#connections.add(connection);
      this.#byNetwork.add(connection, network);
    }
  }

  remove(connection: Connection): void {
    this.#leave(connection);
    this.#reserve.delete(connection);
  }

  /** Whether there is a place for one more of this network, after another was closed if need be. */
  #makeRoom(network: Network | undefined): boolean {
    const crowd = network && this.#crowdOf(network);
    if (crowd !== undefined) return this.#evictOne(crowd.values());
    if (this.#connections.size < this.#options.connectionsMax) return true;
    const { largest } = this.#byNetwork;
    const isOutnumbered = network !== undefined && largest.size > this.#byNetwork.countAt(network.site) + 1;
    return isOutnumbered ? this.#evictFrom(largest) : this.#evictOne(this.#roundRobin());
  }

  #crowdOf(network: Network): ReadonlySet<Connection> | undefined {
    return this.#byNetwork.crowdOf(network, this.#options.connectionsMax);
  }

  #restrict(connection: Connection): void {
    this.#options.counts.turnedAway += 1;
    connection.restrict(true);
    this.#addToReserve(connection);
  }

  /** The oldest in the reserve makes room for the newest: a client that asks at once is heard, however many others are there. */
  #addToReserve(connection: Connection): void {
    this.#reserve.add(connection);
    if (this.#reserve.size <= Math.min(reserveMax, this.#options.connectionsMax / 4)) return;
    const [oldest] = this.#reserve;
    this.#reserve.delete(oldest!);
    oldest!.terminate();
  }

  /** Ends one of a network that has too many: one that waits if possible, otherwise its oldest. */
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
   * Ends one that has waited for long enough, or at least one that keeps us waiting in the middle of a request. Not one
   * that has just come: in a rush every newcomer would put out another whose request is on its way, and nobody would be
   * served.
   */
  #evictOne(candidates: Iterator<Connection, unknown>): boolean {
    let secondChoice: Connection | undefined;
    for (let tries = 0; tries < evictionTries; tries += 1) {
      const { value: candidate, done } = candidates.next();
      if (done) break;
      if (candidate.isExpendable) return this.#evict(candidate);
      if (candidate.isDispensable) secondChoice ??= candidate;
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
    connection.makeWay();
    return true;
  }

  #leave(connection: Connection): void {
    this.#connections.delete(connection);
    this.#byNetwork.remove(connection);
  }
}
