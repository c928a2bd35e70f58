/**
 * Threat lists as bytes for a file: a line that names the format, a line of JSON, the prefixes, and the SHA-256 of
 * all that. A file that is not exactly so is no file: the lists are fetched again.
 *
 * Prefixes of four bytes lie as little-endian numbers, longer ones with their length in front.
 */
import { createHash } from 'node:crypto';
import { letOthersRun } from '../../base/clock.ts';
import type { ThreatList } from './lists.ts';
import { PrefixList } from './prefix-list.ts';

const formatLine = 'terse safe browsing lists 1\n';
const digestBytes = 32;
const sliceBytes = 4 * 1024 * 1024;
const headerBytesMax = 64 * 1024;

interface Header {
  readonly server: string;
  readonly lists: readonly {
    readonly name: string;
    readonly version: string;
    readonly updatedAt: number;
    readonly nextUpdateAt: number;
    readonly fourByte: number;
    readonly longer: number;
  }[];
}

export async function encodeLists(server: string, lists: readonly ThreatList[]): Promise<Buffer> {
  const header: Header = {
    server,
    lists: lists.map(({ name, version, updatedAt, nextUpdateAt, prefixes }) => ({
      name,
      version: Buffer.from(version).toString('base64'),
      updatedAt,
      nextUpdateAt,
      fourByte: prefixes.fourByte.length,
      longer: prefixes.longer.length,
    })),
  };
  const body = lists.flatMap(({ prefixes: { fourByte, longer } }) => [
    Buffer.from(fourByte.buffer, fourByte.byteOffset, fourByte.byteLength),
    ...longer.flatMap(prefix => [Uint8Array.of(prefix.length), prefix]),
  ]);
  const content = Buffer.concat([Buffer.from(`${formatLine}${JSON.stringify(header)}\n`), ...body]);
  return Buffer.concat([content, await digestOf(content)]);
}

/** Undefined when the bytes are not lists of this server, whole and unharmed. */
export async function decodeLists(server: string, bytes: Buffer): Promise<ThreatList[] | undefined> {
  const content = bytes.subarray(0, -digestBytes);
  if (content.length === 0 || !bytes.subarray(-digestBytes).equals(await digestOf(content))) return undefined;
  const headerEnd = content.subarray(0, headerBytesMax).indexOf('\n', formatLine.length);
  if (!content.subarray(0, formatLine.length).equals(Buffer.from(formatLine)) || headerEnd === -1)
    return undefined;
  // The digest vouches for what follows: these are the bytes that `encodeLists` made.
  const header = JSON.parse(content.toString('utf8', formatLine.length, headerEnd)) as Header;
  if (header.server !== server) return undefined;
  let at = headerEnd + 1;
  return header.lists.map(({ name, version, updatedAt, nextUpdateAt, fourByte, longer }) => {
    const numbers = content.subarray(at, at + fourByte * 4);
    at += numbers.length;
    const rest = Array.from({ length: longer }, () => {
      const prefix = new Uint8Array(content.subarray(at + 1, at + 1 + content[at]!));
      at += 1 + prefix.length;
      return prefix;
    });
    // Copied, because numbers must lie at a multiple of four and the file's bytes need not be kept.
    const prefixes = new PrefixList({
      fourByte: new Uint32Array(new Uint8Array(numbers).buffer),
      longer: rest,
    });
    return {
      name,
      version: Uint8Array.from(Buffer.from(version, 'base64')),
      updatedAt,
      nextUpdateAt,
      prefixes,
    };
  });
}

async function digestOf(content: Buffer): Promise<Buffer> {
  const digest = createHash('sha256');
  for (let at = 0; at < content.length; at += sliceBytes) {
    digest.update(content.subarray(at, at + sliceBytes));
    await letOthersRun();
  }
  return digest.digest();
}
