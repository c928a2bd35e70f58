/**
 * The port and everyone connected to it. Connections are counted and capped: one too many takes the place of one
 * that has only been waiting, and when nobody is, it is told so at once. Idle clients and half-sent heads therefore
 * never keep others out, the process never runs out of file descriptors, and what it holds for clients that do not
 * read is bounded for all of them together.
 *
 * Why not Bun.serve: it has no cap and no timeout for heads that can be set, and a `Response` per redirect costs
 * twice what nginx needs for all of it (see docs/adr/0007-own-http-layer.md).
 */
import type { Socket, SocketHandler } from 'bun';
import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import type { Answer } from './answer.ts';
import { Connection } from './connection.ts';
import { Door } from './door.ts';
import { Introductions } from './introductions.ts';
import { type Surroundings, type Tails, tailsAt } from './surroundings.ts';
import type { TlsIdentity } from './tls-identity.ts';

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
}

export interface ListenerCounts {
  /** Connections that were closed in favour of a new one. */
  evicted: number;
  /** Connections refused because all others were busy. */
  turnedAway: number;
  /** Connections cut off because too much was kept for them. */
  shed: number;
  /** Connections that ended before both sides had agreed how to encrypt. */
  failedHandshakes: number;
  /** Connections of peers that should have introduced their client and said something else. */
  failedIntroductions: number;
}

const tickMs = 1_000;
/** Connections looked at for one to close in favour of a new one. */
const evictionTries = 64;
/** Clients turned away that may still be reading why; fewer where few are let in, for want of descriptors. */
const leavingMax = 500;
const defaultHeldMaxBytes = 256 * 1024 * 1024;
/** Longer than proxies keep a connection that they mean to use again, so that they are the ones to end it. */
const defaultKeepAliveS = 75;

export class Listener {
  readonly #connections = new Set<Connection>();
  /** Those who were turned away; they take nobody's place. */
  readonly #leaving = new Set<Connection>();
  readonly #options: ListenerOptions;
  readonly #around: { -readonly [Key in keyof Surroundings]: Surroundings[Key] };
  readonly #door: Door<Connection>;
  /** Sockets served beside the own one. */
  readonly #others = new Set<Door<Connection>>();
  readonly #introductions: Introductions | undefined;
  #identity: TlsIdentity | undefined;
  readonly #stopTicks: () => void;
  readonly #busy: Answer;
  /** Goes round and round, so that the search for an idle connection does not start with the same busy ones. */
  #candidates: Iterator<Connection>;
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
    this.#around = {
      handle,
      refuse,
      onFault,
      isDraining: false,
      tick: 0,
      tails: this.#tails(),
      idleMaxTicks: keepAliveS,
      inFlight: 0,
    };
    this.#introductions = isIntroducing && new Introductions(isIntroducing, this.counts);
    this.#identity = options.identity;
    this.#busy = refuse(
      new Problem('overloaded', { detail: 'Too many are connected.', headers: { 'Retry-After': '1' } }),
    );
    this.#candidates = this.#connections.values();
    // First, because a port that is taken must not leave a clock running.
    this.#door = new Door(options.at, this.#handlers, this.#identity);
    this.#stopTicks = clock.every(tickMs, () => this.#tick());
  }

  get port(): number {
    return this.#door.port ?? this.#options.at.port;
  }

  /** Clients that are being served, or wait to be. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Requests that are being worked on. */
  get inFlight(): number {
    return this.#around.inFlight;
  }

  /** Bytes kept for all clients until they read, or a handler does. */
  get heldBytes(): number {
    let bytes = 0;
    for (const connection of this.#connections) bytes += connection.heldBytes;
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
    for (const connection of this.#connections) connection.terminate();
    for (const connection of this.#leaving) connection.terminate();
  }

  get #isDrained(): boolean {
    return this.#around.isDraining && this.#connections.size + this.#leaving.size === 0;
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
    this.#introductions?.begin(connection);
    const { connectionsMax } = this.#options;
    if (this.#connections.size < connectionsMax || this.#evictOne()) {
      this.#connections.add(connection);
      return;
    }
    this.counts.turnedAway += 1;
    this.#leaving.add(connection);
    if (this.#leaving.size > Math.min(leavingMax, connectionsMax / 4)) connection.terminate();
    else connection.turnAway(this.#busy);
  }

  /**
   * Ends one that has waited for long enough, or at least one that keeps us waiting in the middle of a request. Not one
   * that has just come: in a rush every newcomer would put out another whose request is on its way, and nobody would be
   * served.
   */
  #evictOne(): boolean {
    let secondChoice: Connection | undefined;
    for (let tries = 0; tries < evictionTries; tries += 1) {
      const candidate = this.#nextCandidate();
      if (candidate?.isExpendable) return this.#evict(candidate);
      if (candidate?.isDispensable) secondChoice ??= candidate;
    }
    return secondChoice !== undefined && this.#evict(secondChoice);
  }

  #nextCandidate(): Connection | undefined {
    const { value, done } = this.#candidates.next();
    if (!done) return value;
    this.#candidates = this.#connections.values();
    return this.#candidates.next().value;
  }

  #evict(connection: Connection): true {
    this.counts.evicted += 1;
    connection.close();
    return true;
  }

  #forget(connection: Connection | undefined): void {
    if (connection === undefined) return;
    connection.gone();
    this.#introductions?.forget(connection);
    this.#connections.delete(connection);
    this.#leaving.delete(connection);
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
    for (const connection of this.#connections) connection.expire();
    for (const connection of this.#leaving) connection.expire();
    const { heldMaxBytes = defaultHeldMaxBytes } = this.#options;
    if (this.heldBytes > heldMaxBytes) this.#shed(heldMaxBytes);
    if (this.#around.isDraining) this.#closeIdle();
  }

  /** Cuts off whoever has more than an even share, so that the others fit. */
  #shed(heldMaxBytes: number): void {
    const share = heldMaxBytes / this.#connections.size;
    for (const connection of this.#connections) {
      if (connection.heldBytes <= share) continue;
      this.counts.shed += 1;
      connection.terminate();
    }
  }

  #closeIdle(): void {
    for (const connection of this.#connections) {
      if (connection.isIdle && connection.waitedTicks >= this.#graceTicks) connection.close();
    }
  }
}

/** A client that broke off, or whose bytes cannot be decrypted, is no fault of ours; the close is told all the same. */
function isSystemError(error: Error): boolean {
  return 'code' in error && /^E[A-Z0-9]+$/.test(String(error.code));
}
