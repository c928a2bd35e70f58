/**
 * The port and its connections. Connections are counted and capped (connection-places.ts), so the process never runs
 * out of file descriptors, and the memory for clients that do not read is bounded for all of them together.
 *
 * Why not Bun.serve: it has no cap and no configurable timeout for heads, and a `Response` per redirect costs twice
 * what nginx needs for all of it (see docs/adr/0007-own-http-layer.md).
 */
import type { Socket, SocketHandler } from 'bun';
import type { Clock } from '../../base/clock.ts';
import type { Network } from './address-places.ts';
import { Connection } from './connection.ts';
import { type ConnectionContext, type Tails, tailsAt } from './connection-context.ts';
import { AwaitedBodies, ConnectionPlaces } from './connection-places.ts';
import { ListenSocket, type TlsIdentity } from './listen-socket.ts';
import { ProxyProtocolDecoder } from './proxy-protocol.ts';
import type { WireRequest } from './wire-request.ts';

export interface ListenerOptions extends Pick<ConnectionContext, 'handle' | 'refuse' | 'onFault'> {
  readonly clock: Clock;
  /** Where to listen; `fd` is a socket that another process opened. */
  readonly at:
    | { readonly hostname: string; readonly port: number }
    | { readonly fd: number; readonly port: number };
  readonly connectionsMax: number;
  /** Connections beyond that whose request is still read before they are closed; a quarter of them by default. */
  readonly reserveMax?: number | undefined;
  /** The certificate and key of this server; without it, connections are not encrypted. */
  readonly identity?: TlsIdentity | undefined;
  /** The max-age of Strict-Transport-Security; not sent without an identity. */
  readonly hstsMaxAgeS?: number | undefined;
  /** The peers that name each client before its first byte (proxy-protocol.ts); none by default. */
  readonly sendsProxyHeader?: ((address: string) => boolean) | undefined;
  /** How long a client may stay idle between two requests. */
  readonly keepAliveS?: number;
  /** Bytes kept for all clients together until they, or handlers, read them. */
  readonly heldMaxBytes?: number;
  /** One host's share of all connections, and of all bodies that have not arrived yet. */
  readonly sharePercent?: number;
  /** The network of a connection; undefined for one that carries many clients, such as a proxy's. */
  readonly networkOf?: (address: string) => Network | undefined;
  /** The network that a request comes from; undefined where it is unknown. */
  readonly clientOf?: (request: WireRequest) => Network | undefined;
  readonly isVital?: ConnectionContext['isVital'];
  readonly quick?: ConnectionContext['quick'];
}

interface ListenerCounts {
  /** Connections that were evicted for a new one. */
  evicted: number;
  /** Connections beyond the cap, or beyond their network's share of it, for which none could be evicted. */
  rejected: number;
  /** Connections closed because too many bytes were kept for them. */
  shed: number;
  /** Connections that ended before the TLS handshake was complete. */
  failedHandshakes: number;
  /** Connections of peers that should have named their client and sent something else. */
  failedProxyHeaders: number;
}

const tickMs = 1_000;
/** The part of all connections that may have a request whose body has not arrived yet. */
const bodiesPerConnection = 0.25;
const defaultSharePercent = 50;
const defaultHeldMaxBytes = 256 * 1024 * 1024;
/** Longer than proxies keep a connection for reuse, so that they are the ones to close it. */
const defaultKeepAliveS = 75;

export class Listener {
  readonly #places: ConnectionPlaces;
  readonly #bodies: AwaitedBodies;
  readonly #options: ListenerOptions;
  readonly #context: { -readonly [Key in keyof ConnectionContext]: ConnectionContext[Key] };
  readonly #socket: ListenSocket<Connection>;
  /** Sockets served beside the own one. */
  readonly #others = new Set<ListenSocket<Connection>>();
  readonly #proxyProtocol: ProxyProtocolDecoder | undefined;
  #identity: TlsIdentity | undefined;
  readonly #stopTicks: () => void;
  #drained: (() => void)[] = [];
  /** While draining, idle connections have this long to send one more request. */
  #graceTicks = 0;
  readonly counts: ListenerCounts = {
    evicted: 0,
    rejected: 0,
    shed: 0,
    failedHandshakes: 0,
    failedProxyHeaders: 0,
  };

  constructor(options: ListenerOptions) {
    this.#options = options;
    const { handle, refuse, onFault, clock, sendsProxyHeader, keepAliveS = defaultKeepAliveS } = options;
    const { sharePercent = defaultSharePercent, isVital = () => false, quick = () => 0 } = options;
    const { connectionsMax, reserveMax = connectionsMax / 4 } = options;
    this.#places = new ConnectionPlaces({
      connectionsMax,
      reserveMax,
      sharePercent,
      networkOf: connection => this.#networkOf(connection),
      counts: this.counts,
    });
    this.#bodies = new AwaitedBodies(Math.ceil(connectionsMax * bodiesPerConnection), sharePercent);
    this.#context = {
      handle,
      quick,
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
    this.#proxyProtocol =
      sendsProxyHeader &&
      new ProxyProtocolDecoder(sendsProxyHeader, this.counts, connection => this.#places.assign(connection));
    this.#identity = options.identity;
    // First, because a port that is already in use must not leave a timer running.
    this.#socket = new ListenSocket(options.at, this.#handlers, this.#identity);
    this.#stopTicks = clock.every(tickMs, () => this.#tick());
  }

  get port(): number {
    return this.#socket.port ?? this.#options.at.port;
  }

  /** Clients that are being served, or wait for it. */
  get connections(): number {
    return this.#places.connections.size;
  }

  /** Requests in progress. */
  get inFlight(): number {
    return this.#context.inFlight;
  }

  /** Bodies that had not arrived and were given up for new ones. */
  get bodiesGivenUp(): number {
    return this.#bodies.givenUp;
  }

  /** Bytes kept for all clients until they, or handlers, read them. */
  get heldBytes(): number {
    let bytes = 0;
    for (const connection of this.#places.connections) bytes += connection.heldBytes;
    return bytes;
  }

  /** Accepts the connections of another socket too, until the returned function is called; then closes it. */
  serveAlso(fd: number): () => void {
    const other = new ListenSocket({ fd }, this.#handlers, this.#identity);
    this.#others.add(other);
    return () => {
      if (this.#others.delete(other) && !this.#context.isDraining) other.close();
    };
  }

  /** New connections get this certificate; existing ones stay open. */
  renew(identity: TlsIdentity): void {
    if (this.#context.isDraining || this.#identity === undefined) return;
    this.#identity = identity;
    for (const socket of [this.#socket, ...this.#others]) socket.renew(identity);
  }

  /**
   * Accepts no new connections and ends each one after its next answer; resolves when all are closed. Those between two
   * requests end at once or, when another process goes on serving the port, after being idle for `graceTicks`: a
   * request that is on its way is then still answered.
   */
  drain(graceTicks = 0): Promise<void> {
    if (!this.#context.isDraining) for (const socket of [this.#socket, ...this.#others]) socket.close();
    this.#context.isDraining = true;
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
    return this.#context.isDraining && this.#places.connections.size + this.#places.reserve.size === 0;
  }

  /** New for every socket, which reads it once. */
  get #handlers(): SocketHandler<Connection> {
    const proxyProtocol = this.#proxyProtocol;
    return {
      open: socket => this.#accept(socket),
      data:
        proxyProtocol === undefined
          ? (socket, chunk) => socket.data.receive(chunk)
          : (socket, chunk) => proxyProtocol.receive(socket.data, chunk),
      drain: socket => socket.data.drained(),
      end: socket => socket.data.ended(),
      close: socket => this.#forget(socket.data),
      error: (socket, error) => {
        if (!isSystemError(error)) this.#options.onFault(error);
        socket.terminate();
      },
      // With this handler, `open` is called before the TLS handshake, so the connection is counted and timed during it.
      handshake: (_socket, isDone) => {
        if (!isDone) this.counts.failedHandshakes += 1;
      },
    };
  }

  #accept(socket: Socket<Connection>): void {
    const connection = new Connection(socket, this.#context);
    socket.data = connection;
    this.#proxyProtocol?.begin(connection);
    this.#places.add(connection);
  }

  #networkOf(connection: Connection): Network | undefined {
    if (this.#proxyProtocol?.isWaiting(connection)) return undefined;
    return this.#options.networkOf?.(connection.address);
  }

  #forget(connection: Connection | undefined): void {
    if (connection === undefined) return;
    connection.gone();
    this.#proxyProtocol?.forget(connection);
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
    this.#context.tick += 1;
    this.#context.tails = this.#tails();
    for (const connection of this.#places.connections) connection.expire();
    for (const connection of this.#places.reserve) connection.expire();
    const { heldMaxBytes = defaultHeldMaxBytes } = this.#options;
    if (this.heldBytes > heldMaxBytes) this.#shed(heldMaxBytes);
    if (this.#context.isDraining) this.#closeIdle();
  }

  /** Closes the connections that use more than an even share, so that the others fit. */
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

/**
 * A client that disconnected, or whose bytes cannot be decrypted, is not our error; the close is reported in any case.
 */
function isSystemError(error: Error): boolean {
  return 'code' in error && /^E[A-Z0-9]+$/.test(String(error.code));
}
