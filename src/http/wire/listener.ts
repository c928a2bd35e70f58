/**
 * The port and everyone connected to it. Connections are counted and capped (connection-places.ts), so the process never
 * runs out of file descriptors, and what it holds for clients that do not read is bounded for all of them together.
 *
 * Why not Bun.serve: it has no cap and no timeout for heads that can be set, and a `Response` per redirect costs
 * twice what nginx needs for all of it (see docs/adr/0007-own-http-layer.md).
 */
import type { Socket, SocketHandler } from 'bun';
import type { Clock } from '../../base/clock.ts';
import type { Network } from './address-places.ts';
import { AwaitedBodies } from './awaited-bodies.ts';
import { Connection } from './connection.ts';
import { ConnectionPlaces } from './connection-places.ts';
import { Door } from './door.ts';
import { Introductions } from './introductions.ts';
import { type Surroundings, type Tails, tailsAt } from './surroundings.ts';
import type { TlsIdentity } from './tls-identity.ts';
import type { WireRequest } from './wire-request.ts';

export interface ListenerOptions extends Pick<Surroundings, 'handle' | 'refuse' | 'onFault'> {
  readonly clock: Clock;
  /** Where to listen; `fd` is a socket that somebody else opened. */
  readonly at:
    | { readonly hostname: string; readonly port: number }
    | { readonly fd: number; readonly port: number };
  readonly connectionsMax: number;
  /** Who this server is; without it, nothing is encrypted. */
  readonly identity?: TlsIdentity | undefined;
  /** The max-age of Strict-Transport-Security; not sent without an identity. */
  readonly hstsMaxAgeS?: number | undefined;
  /** The peers that introduce each client before it is heard (introduction.ts); nobody does unless told. */
  readonly isIntroducing?: ((address: string) => boolean) | undefined;
  /** How long a client may stay between two requests. */
  readonly keepAliveS?: number;
  /** Bytes kept for all clients together until they read, or a handler does. */
  readonly heldMaxBytes?: number;
  /** What one host may have of all connections, and of all bodies that are still to come. */
  readonly sharePercent?: number;
  /** The network of a connection; undefined for one that stands for many, such as a proxy's. */
  readonly networkOf?: (address: string) => Network | undefined;
  /** The network that a request comes from; undefined where that is not known. */
  readonly clientOf?: (request: WireRequest) => Network | undefined;
  readonly isVital?: Surroundings['isVital'];
}

export interface ListenerCounts {
  /** Connections that were closed in favour of a new one. */
  evicted: number;
  /** Connections beyond the cap, or beyond their network's share of it, for which nobody else could be closed. */
  turnedAway: number;
  /** Connections cut off because too much was kept for them. */
  shed: number;
  /** Connections that ended before both sides had agreed how to encrypt. */
  failedHandshakes: number;
  /** Connections of peers that should have introduced their client and said something else. */
  failedIntroductions: number;
}

const tickMs = 1_000;
/** Of all connections, so many may have a request whose body is still to come. */
const bodiesPerConnection = 0.25;
const defaultSharePercent = 50;
const defaultHeldMaxBytes = 256 * 1024 * 1024;
/** Longer than proxies keep a connection that they mean to use again, so that they are the ones to end it. */
const defaultKeepAliveS = 75;

export class Listener {
  readonly #places: ConnectionPlaces;
  readonly #bodies: AwaitedBodies;
  readonly #options: ListenerOptions;
  readonly #around: { -readonly [Key in keyof Surroundings]: Surroundings[Key] };
  readonly #door: Door<Connection>;
  /** Sockets served beside the own one. */
  readonly #others = new Set<Door<Connection>>();
  readonly #introductions: Introductions | undefined;
  #identity: TlsIdentity | undefined;
  readonly #stopTicks: () => void;
  #drained: (() => void)[] = [];
  /** Idle connections are given this long to ask once more while draining. */
  #graceTicks = 0;
  readonly counts: ListenerCounts = {
    evicted: 0,
    turnedAway: 0,
    shed: 0,
    failedHandshakes: 0,
    failedIntroductions: 0,
  };

  constructor(options: ListenerOptions) {
    this.#options = options;
    const { handle, refuse, onFault, clock, isIntroducing, keepAliveS = defaultKeepAliveS } = options;
    const { sharePercent = defaultSharePercent, isVital = () => false } = options;
    const { connectionsMax } = options;
    this.#places = new ConnectionPlaces({ connectionsMax, sharePercent, counts: this.counts });
    this.#bodies = new AwaitedBodies(Math.ceil(connectionsMax * bodiesPerConnection), sharePercent);
    this.#around = {
      handle,
      refuse,
      onFault,
      isVital,
      bodies: {
        begin: (connection, request) => this.#bodies.begin(connection, options.clientOf?.(request)),
        end: connection => this.#bodies.end(connection),
      },
      isEncrypted: options.identity !== undefined,
      isDraining: false,
      tick: 0,
      tails: this.#tails(),
      idleMaxTicks: keepAliveS,
      inFlight: 0,
    };
    this.#introductions =
      isIntroducing &&
      new Introductions(isIntroducing, this.counts, connection =>
        this.#places.assign(connection, this.#networkOf(connection)),
      );
    this.#identity = options.identity;
    // First, because a port that is taken must not leave a clock running.
    this.#door = new Door(options.at, this.#handlers, this.#identity);
    this.#stopTicks = clock.every(tickMs, () => this.#tick());
  }

  get port(): number {
    return this.#door.port ?? this.#options.at.port;
  }

  /** Clients that are being served, or wait to be. */
  get connections(): number {
    return this.#places.connections.size;
  }

  /** Requests that are being worked on. */
  get inFlight(): number {
    return this.#around.inFlight;
  }

  /** Bodies that had not come and were given up in favour of new ones. */
  get bodiesGivenUp(): number {
    return this.#bodies.givenUp;
  }

  /** Bytes kept for all clients until they read, or a handler does. */
  get heldBytes(): number {
    let bytes = 0;
    for (const connection of this.#places.connections) bytes += connection.heldBytes;
    return bytes;
  }

  /** Takes the connections of another socket too, until the returned function is called; then closes it. */
  serveAlso(fd: number): () => void {
    const other = new Door({ fd }, this.#handlers, this.#identity);
    this.#others.add(other);
    return () => {
      if (this.#others.delete(other) && !this.#around.isDraining) other.close();
    };
  }

  /** Whoever connects from now on is shown this certificate; whoever is connected stays so. */
  renew(identity: TlsIdentity): void {
    if (this.#around.isDraining || this.#identity === undefined) return;
    this.#identity = identity;
    for (const door of [this.#door, ...this.#others]) door.renew(identity);
  }

  /**
   * Takes no new connections and ends each one after its next answer; resolves when all are gone. Those that are
   * between two requests end at once, or, when another process goes on serving the port, after having been idle for
   * `graceTicks`: a request that is just on its way is then still answered.
   */
  drain(graceTicks = 0): Promise<void> {
    if (!this.#around.isDraining) for (const door of [this.#door, ...this.#others]) door.close();
    this.#around.isDraining = true;
    this.#graceTicks = graceTicks;
    this.#closeIdle();
    if (this.#isDrained) {
      this.#stopTicks();
      return Promise.resolve();
    }
    return new Promise(resolve => this.#drained.push(resolve));
  }

  /** Ends every connection, whatever it is doing. */
  cutOff(): void {
    for (const connection of this.#places.connections) connection.terminate();
    for (const connection of this.#places.reserve) connection.terminate();
  }

  get #isDrained(): boolean {
    return this.#around.isDraining && this.#places.connections.size + this.#places.reserve.size === 0;
  }

  /** Made anew for every door, and read by it once. */
  get #handlers(): SocketHandler<Connection> {
    const introductions = this.#introductions;
    return {
      open: socket => this.#accept(socket),
      data:
        introductions === undefined
          ? (socket, chunk) => socket.data.receive(chunk)
          : (socket, chunk) => introductions.receive(socket.data, chunk),
      drain: socket => socket.data.drained(),
      end: socket => socket.data.ended(),
      close: socket => this.#forget(socket.data),
      error: (socket, error) => {
        if (!isSystemError(error)) this.#options.onFault(error);
        socket.terminate();
      },
      // With this a connection is told of when it begins, so that it is counted and timed while it agrees on a cipher.
      handshake: (_socket, isDone) => {
        if (!isDone) this.counts.failedHandshakes += 1;
      },
    };
  }

  #accept(socket: Socket<Connection>): void {
    const connection = new Connection(socket, this.#around);
    socket.data = connection;
    const isKnown = !this.#introductions?.begin(connection);
    this.#places.add(connection, isKnown ? this.#networkOf(connection) : undefined);
  }

  #networkOf(connection: Connection): Network | undefined {
    return this.#options.networkOf?.(connection.address);
  }

  #forget(connection: Connection | undefined): void {
    if (connection === undefined) return;
    connection.gone();
    this.#introductions?.forget(connection);
    this.#places.remove(connection);
    if (!this.#isDrained) return;
    this.#stopTicks();
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #tails(): Tails {
    const { clock, identity, hstsMaxAgeS } = this.#options;
    return tailsAt(clock.now(), identity && hstsMaxAgeS);
  }

  #tick(): void {
    this.#around.tick += 1;
    this.#around.tails = this.#tails();
    for (const connection of this.#places.connections) connection.expire();
    for (const connection of this.#places.reserve) connection.expire();
    const { heldMaxBytes = defaultHeldMaxBytes } = this.#options;
    if (this.heldBytes > heldMaxBytes) this.#shed(heldMaxBytes);
    if (this.#around.isDraining) this.#closeIdle();
  }

  /** Cuts off whoever has more than an even share, so that the others fit. */
  #shed(heldMaxBytes: number): void {
    const share = heldMaxBytes / this.#places.connections.size;
    for (const connection of this.#places.connections) {
      if (connection.heldBytes <= share) continue;
      this.counts.shed += 1;
      connection.terminate();
    }
  }

  #closeIdle(): void {
    for (const connection of this.#places.connections) {
      if (connection.isIdle && connection.waitedTicks >= this.#graceTicks) connection.close();
    }
  }
}

/** A client that broke off, or whose bytes cannot be decrypted, is no fault of ours; the close is told all the same. */
function isSystemError(error: Error): boolean {
  return 'code' in error && /^E[A-Z0-9]+$/.test(String(error.code));
}
