/**
 * Requests whose body is still to come. They cost a place each and no work, so they are bounded apart from requests that
 * are worked on: in all and for each network. One too many is not refused, because it may come at once. Instead the
 * oldest that has not come is given up, of the same network or of the one that has most.
 */
import { AddressPlaces, type Network } from './address-places.ts';
import type { Connection } from './connection.ts';

/** Of clients about which nothing is known. */
const unknownNetwork: Network = { host: '', site: '' };

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
