/**
 * A listening socket that is being served, plain or with TLS. Its certificate can be replaced while it is open: the
 * same socket is then served again with the new one, and the old service ends. This closes no connection, and loses
 * none in the backlog, because the backlog belongs to the socket.
 */
import { dlopen, FFIType } from 'bun:ffi';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { SocketHandler, TLSOptions } from 'bun';

/** Where to listen; `fd` is a socket that another process opened. */
type ListenAddress =
  | { readonly hostname: string; readonly port: number }
  | { readonly fd: number; readonly port?: number };

interface OpenListener {
  readonly port?: number;
  readonly fd?: number;
  stop(closeActive: boolean): void;
}

export class ListenSocket<Data> {
  readonly #handlers: SocketHandler<Data>;
  #listener: OpenListener;
  readonly port: number | undefined;

  constructor(at: ListenAddress, handlers: SocketHandler<Data>, identity: TlsIdentity | undefined) {
    this.#handlers = handlers;
    this.#listener = this.#listen(at, identity);
    this.port = this.#listener.port ?? at.port;
  }

  /** Serves this certificate to new connections. */
  renew(identity: TlsIdentity): void {
    const before = this.#listener;
    if (before.fd === undefined) throw new Error('a certificate cannot be replaced on this system');
    this.#listener = this.#listen({ fd: duplicateFd(before.fd) }, identity);
    before.stop(false);
  }

  /** Existing connections stay open. */
  close(): void {
    this.#listener.stop(false);
  }

  #listen(at: ListenAddress, identity: TlsIdentity | undefined): OpenListener {
    return Bun.listen<Data>({
      // Bun accepts a descriptor too, though its types do not say so.
      ...(('fd' in at ? { fd: at.fd } : at) as { hostname: string; port: number }),
      // A client that has closed its sending side still gets its answer.
      allowHalfOpen: true,
      ...(identity !== undefined && { tls: tlsOptionsOf(identity) }),
      socket: this.#handlers,
    });
  }
}

/**
 * The certificate chain of this server and its key. They match and can be served: neither a half-written file nor a new
 * certificate with the old key becomes a `TlsIdentity`.
 */
export interface TlsIdentity {
  /** Both as PEM text. */
  readonly certificate: string;
  readonly key: string;
  /** When the certificate expires; milliseconds since the epoch. */
  readonly validUntilMs: number;
  /** The names that the certificate is for, as it writes them. */
  readonly names: string;
}

/**
 * Forward secrecy and authenticated encryption only. TLS 1.3 has no others, and nothing older than 1.2 is supported.
 */
export const ciphers = 'ECDHE+AESGCM:ECDHE+CHACHA20';

/** The ALPN protocols, each with its length before it: clients that insist on another one get an alert. */
const protocols = Buffer.from('\x08http/1.1', 'latin1');

const block = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Throws a one-line description of what is wrong. */
export function identityOf(certificate: string, key: string): TlsIdentity {
  const [own, ...others] = certificate.match(block) ?? [];
  if (own === undefined) throw new Error('there is no certificate in PEM form');
  const parsed = orThrow('the certificate is damaged', () => new X509Certificate(own));
  for (const other of others)
    orThrow('a certificate of the chain is damaged', () => new X509Certificate(other));
  if (certificate.split('-----BEGIN').length !== others.length + 2)
    throw new Error('there is more, or less, than whole certificates');
  const privateKey = orThrow('there is no private key in PEM form without a passphrase', () =>
    createPrivateKey(key),
  );
  if (!parsed.checkPrivateKey(privateKey)) throw new Error('the key does not belong to the certificate');
  const { validTo, subjectAltName, subject } = parsed;
  return { certificate, key, validUntilMs: Date.parse(validTo), names: subjectAltName ?? subject };
}

function tlsOptionsOf({ certificate, key }: TlsIdentity): TLSOptions {
  return { cert: certificate, key, ciphers, ALPNProtocols: protocols };
}

/** The library's message about a damaged file may quote it, and the file may be a key. */
function orThrow<Value>(fault: string, make: () => Value): Value {
  try {
    return make();
  } catch {
    throw new Error(fault);
  }
}

/** Possible locations of the C library: with glibc, with musl, on macOS. */
const libraries = ['libc.so.6', `libc.musl-${muslName(process.arch)}.so.1`, 'libSystem.dylib'];

/**
 * A second descriptor of a socket. Bun can serve a given descriptor but offers no way to keep one without serving it,
 * and it closes every descriptor it served. A copy has the same backlog, so the process that serves it continues where
 * another stopped and no waiting client is lost.
 */
export function duplicateFd(fd: number): number {
  const copy = duplicate()(fd);
  if (copy < 0) throw new Error(`descriptor ${fd} cannot be kept`);
  return copy;
}

let loaded: ((fd: number) => number) | undefined;

function duplicate(): (fd: number) => number {
  for (const library of libraries) {
    if (loaded !== undefined) break;
    try {
      loaded = dlopen(library, { dup: { args: [FFIType.i32], returns: FFIType.i32 } }).symbols.dup;
    } catch {}
  }
  if (loaded === undefined) throw new Error('a socket cannot be kept without a loadable C library');
  return loaded;
}

function muslName(arch: string): string {
  return arch === 'arm64' ? 'aarch64' : arch === 'x64' ? 'x86_64' : arch;
}
