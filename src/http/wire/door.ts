/**
 * A listening socket that is being served, plain or with TLS. Its certificate can be replaced while it is open: the
 * same socket is then served once more with the new one, and the old service of it ends. No connection is closed for
 * that, and none that waits in the system's queue is lost, because the queue belongs to the socket.
 */
import type { SocketHandler } from 'bun';
import { duplicateFd } from './duplicate-fd.ts';
import { type TlsIdentity, tlsOptionsOf } from './tls-identity.ts';

/** Where to listen; `fd` is a socket that somebody else opened. */
export type DoorPlace =
  | { readonly hostname: string; readonly port: number }
  | { readonly fd: number; readonly port?: number };

interface OpenListener {
  readonly port?: number;
  readonly fd?: number;
  stop(closeActive: boolean): void;
}

export class Door<Data> {
  readonly #handlers: SocketHandler<Data>;
  #listener: OpenListener;
  readonly port: number | undefined;

  constructor(at: DoorPlace, handlers: SocketHandler<Data>, identity: TlsIdentity | undefined) {
    this.#handlers = handlers;
    this.#listener = this.#listen(at, identity);
    this.port = this.#listener.port ?? at.port;
  }

  /** Whoever connects from now on is shown this certificate. */
  renew(identity: TlsIdentity): void {
    const before = this.#listener;
    if (before.fd === undefined) throw new Error('a certificate cannot be replaced on this system');
    this.#listener = this.#listen({ fd: duplicateFd(before.fd) }, identity);
    before.stop(false);
  }

  /** Whoever is connected stays so. */
  close(): void {
    this.#listener.stop(false);
  }

  #listen(at: DoorPlace, identity: TlsIdentity | undefined): OpenListener {
    return Bun.listen<Data>({
      // Bun takes a descriptor too, though its types do not say so.
      ...(('fd' in at ? { fd: at.fd } : at) as { hostname: string; port: number }),
      // Whoever says that it has nothing more to send still gets its answer.
      allowHalfOpen: true,
      ...(identity !== undefined && { tls: tlsOptionsOf(identity) }),
      socket: this.#handlers,
    });
  }
}
