/**
 * The PROXY protocol, by which a proxy that forwards bytes without reading them names their client: a line of text
 * (version 1) or some bytes (version 2) before the client's first byte. It is only accepted from a trusted peer, and a
 * trusted peer must begin with it: guessing would let a client forge its own address.
 */
import { isIP } from 'node:net';
import type { Connection } from './connection.ts';

export interface ProxyHeader {
  /** Undefined when the proxy speaks for itself, as in a health check. */
  readonly address: string | undefined;
  /** How many of the received bytes it took; the rest is the client's. */
  readonly usedBytes: number;
}

const lineStart = Buffer.from('PROXY ');
const lineMaxBytes = 107;
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const fixedBytes = 16;
/** Addresses take 36 bytes at most; the extensions that proxies add fit easily. */
const extraMaxBytes = 2_048;

const commands = { local: 0x20, proxy: 0x21 } as const;
/** Streams over IPv4 and IPv6, by their number, with the size of an address and of all addresses. */
const families: Readonly<Record<number, { readonly addressBytes: number; readonly bytes: number }>> = {
  17: { addressBytes: 4, bytes: 12 },
  33: { addressBytes: 16, bytes: 36 },
};

/** Undefined when it is incomplete; throws when it is invalid. */
export function readProxyHeader(bytes: Buffer): ProxyHeader | undefined {
  return bytes[0] === signature[0] ? readBinary(bytes) : readLine(bytes);
}

function readLine(bytes: Buffer): ProxyHeader | undefined {
  requireStart(bytes, lineStart);
  const end = bytes.subarray(0, lineMaxBytes).indexOf('\r\n');
  if (end === -1) {
    if (bytes.length >= lineMaxBytes) throw new Error('the line does not end');
    return undefined;
  }
  const [, family, source = '', target = '', sourcePort = '', targetPort = '', ...more] = bytes
    .toString('latin1', 0, end)
    .split(' ');
  const usedBytes = end + 2;
  // The rest of the line is ignored.
  if (family === 'UNKNOWN') return { address: undefined, usedBytes };
  const version = family === 'TCP4' ? 4 : family === 'TCP6' ? 6 : undefined;
  const isSound =
    version !== undefined &&
    more.length === 0 &&
    isIP(source) === version &&
    isIP(target) === version &&
    isPort(sourcePort) &&
    isPort(targetPort);
  if (!isSound) throw new Error('the line does not name two addresses');
  return { address: source, usedBytes };
}

function readBinary(bytes: Buffer): ProxyHeader | undefined {
  requireStart(bytes, signature);
  if (bytes.length < fixedBytes) return undefined;
  const command = bytes[12]!;
  if (command !== commands.local && command !== commands.proxy) throw new Error('the command is unknown');
  const extraBytes = bytes.readUInt16BE(14);
  if (extraBytes > extraMaxBytes) throw new Error('too much follows');
  const usedBytes = fixedBytes + extraBytes;
  // Anything but an internet stream, such as a local socket, has no address that is useful here.
  const family = command === commands.proxy ? families[bytes[13]!] : undefined;
  if (family !== undefined && extraBytes < family.bytes) throw new Error('the addresses are cut short');
  if (bytes.length < usedBytes) return undefined;
  const source = bytes.subarray(fixedBytes, fixedBytes + (family?.addressBytes ?? 0));
  return { address: family === undefined ? undefined : addressText(source), usedBytes };
}

/** Checks the bytes received so far; a peer that begins otherwise is rejected at once. */
function requireStart(bytes: Buffer, start: Buffer): void {
  const length = Math.min(bytes.length, start.length);
  if (bytes.compare(start, 0, length, 0, length) !== 0) throw new Error('this is not a PROXY header');
}

const isPort = (text: string): boolean => /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;

function addressText(address: Buffer): string {
  if (address.length === 4) return address.join('.');
  const groups = Array.from({ length: 8 }, (_, index) => address.readUInt16BE(2 * index).toString(16));
  // The platform's own spelling, which shortens the zeros.
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1);
}

/**
 * Connections of trusted proxies that have not named their client yet. Their bytes, only a few, are kept here until the
 * client is known; only then does the connection see any of them. The connection enforces the timeout: to it, a peer
 * that has not named its client has sent nothing.
 */
export class ProxyProtocolDecoder {
  readonly #isTrusted: (address: string) => boolean;
  readonly #waiting = new Map<Connection, Buffer>();
  readonly #counts: { failedProxyHeaders: number };
  readonly #onKnown: (connection: Connection) => void;

  /** `onKnown` is called once the client of the connection is known. */
  constructor(
    isTrusted: (address: string) => boolean,
    counts: { failedProxyHeaders: number },
    onKnown: (connection: Connection) => void,
  ) {
    this.#isTrusted = isTrusted;
    this.#counts = counts;
    this.#onKnown = onKnown;
  }

  begin(connection: Connection): void {
    if (this.#isTrusted(connection.address)) this.#waiting.set(connection, Buffer.alloc(0));
  }

  /** Whether the peer has not named the client of the connection yet. */
  isWaiting(connection: Connection): boolean {
    return this.#waiting.has(connection);
  }

  forget(connection: Connection): void {
    this.#waiting.delete(connection);
  }

  /** Passes on the client's bytes. */
  receive(connection: Connection, chunk: Buffer): void {
    const before = this.#waiting.get(connection);
    if (before === undefined) {
      connection.receive(chunk);
      return;
    }
    const bytes = before.length === 0 ? chunk : Buffer.concat([before, chunk]);
    const proxyHeader = this.#read(connection, bytes);
    if (proxyHeader === undefined) return;
    this.#waiting.delete(connection);
    if (proxyHeader.address !== undefined) {
      connection.setClientAddress(proxyHeader.address);
      this.#onKnown(connection);
    }
    if (bytes.length > proxyHeader.usedBytes) connection.receive(bytes.subarray(proxyHeader.usedBytes));
  }

  #read(connection: Connection, bytes: Buffer): ProxyHeader | undefined {
    try {
      const proxyHeader = readProxyHeader(bytes);
      if (proxyHeader === undefined) this.#waiting.set(connection, Buffer.from(bytes));
      return proxyHeader;
    } catch {
      // No answer: a peer that does not speak this protocol may speak for any client.
      this.#counts.failedProxyHeaders += 1;
      connection.terminate();
      return undefined;
    }
  }
}
