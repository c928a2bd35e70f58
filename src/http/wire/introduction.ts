/**
 * How a proxy that passes bytes on, without reading them, says whose they are: the PROXY protocol, a line of text
 * (version 1) or some bytes (version 2) before the first of the client's own. Only what a trusted peer sends is read
 * as one, and a trusted peer has to begin with it: guessing would let a client introduce itself.
 */
import { isIP } from 'node:net';

export interface Introduction {
  /** Undefined when the proxy speaks for itself, as when it looks whether we are there. */
  readonly address: string | undefined;
  /** How much of what came it was; the rest is the client's. */
  readonly usedBytes: number;
}

const lineStart = Buffer.from('PROXY ');
const lineMaxBytes = 107;
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const fixedBytes = 16;
/** Addresses take 36 bytes at most; what proxies add beyond them fits easily. */
const extraMaxBytes = 2_048;

const commands = { local: 0x20, proxy: 0x21 } as const;
/** Streams over IPv4 and IPv6, by their number, with the size of an address and of all addresses. */
const families: Readonly<Record<number, { readonly addressBytes: number; readonly bytes: number }>> = {
  17: { addressBytes: 4, bytes: 12 },
  33: { addressBytes: 16, bytes: 36 },
};

/** Undefined when more has to come; throws when it is none. */
export function readIntroduction(bytes: Buffer): Introduction | undefined {
  return bytes[0] === signature[0] ? readBinary(bytes) : readLine(bytes);
}

function readLine(bytes: Buffer): Introduction | undefined {
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
  // Whatever follows, also nothing, is to be passed over.
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

function readBinary(bytes: Buffer): Introduction | undefined {
  requireStart(bytes, signature);
  if (bytes.length < fixedBytes) return undefined;
  const command = bytes[12]!;
  if (command !== commands.local && command !== commands.proxy) throw new Error('the command is unknown');
  const extraBytes = bytes.readUInt16BE(14);
  if (extraBytes > extraMaxBytes) throw new Error('too much follows');
  const usedBytes = fixedBytes + extraBytes;
  // What is about no stream of the internet, such as a local socket, has no address that would mean anything here.
  const family = command === commands.proxy ? families[bytes[13]!] : undefined;
  if (family !== undefined && extraBytes < family.bytes) throw new Error('the addresses are cut short');
  if (bytes.length < usedBytes) return undefined;
  const source = bytes.subarray(fixedBytes, fixedBytes + (family?.addressBytes ?? 0));
  return { address: family === undefined ? undefined : addressText(source), usedBytes };
}

/** So much as is there has to be right; a peer that begins otherwise is not waited for. */
function requireStart(bytes: Buffer, start: Buffer): void {
  const length = Math.min(bytes.length, start.length);
  if (bytes.compare(start, 0, length, 0, length) !== 0) throw new Error('this is no introduction');
}

const isPort = (text: string): boolean => /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;

function addressText(address: Buffer): string {
  if (address.length === 4) return address.join('.');
  const groups = Array.from({ length: 8 }, (_, index) => address.readUInt16BE(2 * index).toString(16));
  // The platform's own spelling, which shortens the zeros.
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1);
}
