/**
 * The port and everyone connected to it. Connections are counted and capped: one too many takes the place of one
 * that has only been waiting, and when nobody is, it is told so at once. Idle clients and half-sent heads therefore
 * never keep others out, and the process never runs out of file descriptors.
 *
 * Why not Bun.serve: it has no cap and no timeout for heads that can be set, and a `Response` per redirect costs
 * twice what nginx needs for all of it (see docs/adr/0006-own-http-layer.md).
 */
import type { Socket } from 'bun';
import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import type { Answer } from './answer.ts';
import { Connection, type Surroundings, type Tails } from './connection.ts';

export interface ListenerOptions extends Pick<Surroundings, 'handle' | 'refuse' | 'onFault'> {
  readonly clock: Clock;
  /** Where to listen; `fd` is a socket that somebody else opened. */
  readonly at:
    | { readonly hostname: string; readonly port: number }
    | { readonly fd: number; readonly port: number };
  readonly connectionsMax: number;
}

export interface ListenerCounts {
  /** Connections that took the place of another, and those that were turned away. */
  evicted: number;
  turnedAway: number;
}

const tickMs = 1_000;
/** Connections looked at for one to close in favour of a new one. */
const evictionTries = 64;
/** Clients turned away that may still be reading why. */
const lingeringMax = 500;

export class Listener {
  readonly #connections = new Set<Connection>();
  readonly #options: ListenerOptions;
  readonly #around: { -readonly [Key in keyof Surroundings]: Surroundings[Key] };
  readonly #listener: { readonly port?: number; stop(closeActive?: boolean): void };
  readonly #stopTicks: () => void;
  readonly #busy: Answer;
  /** Goes round and round, so that the search for an idle connection does not start with the same busy ones. */
  #candidates: Iterator<Connection>;
  #drained: (() => void)[] = [];
  /** Idle connections are given this long to ask once more while draining. */
  #graceTicks = 0;
  readonly counts: ListenerCounts = { evicted: 0, turnedAway: 0 };

  constructor(options: ListenerOptions) {
    this.#options = options;
    const { handle, refuse, onFault } = options;
    const tails = this.#tails();
    this.#around = { handle, refuse, onFault, isDraining: false, tick: 0, tails, inFlight: 0 };
    this.#busy = refuse(
      new Problem('overloaded', { detail: 'Too many are connected.', headers: { 'Retry-After': '1' } }),
    );
    this.#candidates = this.#connections.values();
    this.#stopTicks = options.clock.every(tickMs, () => this.#tick());
    this.#listener = Bun.listen<Connection>({
      // Bun takes a descriptor too, though its types do not say so.
      ...(('fd' in options.at ? { fd: options.at.fd } : options.at) as { hostname: string; port: number }),
      // Whoever says that it has nothing more to send still gets its answer.
      allowHalfOpen: true,
      socket: {
        open: socket => this.#accept(socket),
        data: (socket, chunk) => socket.data.receive(chunk),
        drain: socket => socket.data.drained(),
        end: socket => socket.data.ended(),
        close: socket => this.#forget(socket.data),
        // A client that broke off is no fault of ours; the socket's close is told all the same.
        error: (socket, error) => {
          if (!('code' in error)) options.onFault(error);
          socket.terminate();
        },
      },
    });
  }

  get port(): number {
    return this.#listener.port ?? this.#options.at.port;
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Requests that are being worked on. */
  get inFlight(): number {
    return this.#around.inFlight;
  }

  /**
   * Takes no new connections and ends each one after its next answer; resolves when all are gone. Those that are
   * between two requests end at once, or, when another process goes on serving the port, after having been idle for
   * `graceTicks`: a request that is just on its way is then still answered.
   */
  drain(graceTicks = 0): Promise<void> {
    if (!this.#around.isDraining) this.#listener.stop(false);
    this.#around.isDraining = true;
    this.#graceTicks = graceTicks;
    this.#closeIdle();
    if (this.#connections.size === 0) {
      this.#stopTicks();
      return Promise.resolve();
    }
    return new Promise(resolve => this.#drained.push(resolve));
  }

  /** Ends every connection, whatever it is doing. */
  cutOff(): void {
    for (const connection of this.#connections) connection.terminate();
  }

  #accept(socket: Socket<Connection>): void {
    const connection = new Connection(socket, this.#around);
    socket.data = connection;
    const isFull = this.#connections.size >= this.#options.connectionsMax;
    this.#connections.add(connection);
    if (!isFull || this.#evictOne()) return;
    this.counts.turnedAway += 1;
    if (this.#connections.size > this.#options.connectionsMax + lingeringMax) connection.terminate();
    else connection.turnAway(this.#busy);
  }

  #evictOne(): boolean {
    for (let tries = 0; tries < evictionTries; tries += 1) {
      let { value, done } = this.#candidates.next();
      if (done) {
        this.#candidates = this.#connections.values();
        ({ value, done } = this.#candidates.next());
      }
      if (value?.isExpendable) {
        this.counts.evicted += 1;
        value.terminate();
        return true;
      }
    }
    return false;
  }

  #forget(connection: Connection | undefined): void {
    if (connection === undefined) return;
    connection.gone();
    this.#connections.delete(connection);
    if (!this.#around.isDraining || this.#connections.size > 0) return;
    this.#stopTicks();
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #tick(): void {
    this.#around.tick += 1;
    this.#around.tails = this.#tails();
    for (const connection of this.#connections) connection.expire();
    if (this.#around.isDraining) this.#closeIdle();
  }

  #closeIdle(): void {
    for (const connection of this.#connections) {
      if (connection.isIdle && connection.idleTicks >= this.#graceTicks) connection.close();
      else if (connection.isUnused) connection.close();
    }
  }

  #tails(): Tails {
    const date = `Date: ${new Date(this.#options.clock.now()).toUTCString()}\r\n`;
    return {
      keep: `${date}\r\n`,
      keepOld: `${date}Connection: keep-alive\r\n\r\n`,
      close: `${date}Connection: close\r\n\r\n`,
    };
  }
}
