/**
 * The state that processes of one data folder share: the lists, and the backoff after a failure. Files are replaced
 * whole, so a reader sees the old one or the new one; only the holder of the updater's lock writes.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { yieldToEventLoop } from '../../base/clock.ts';
import { type BackOffState, noBackOff } from './fault.ts';
import { PrefixList, type ThreatList } from './lists.ts';

const formatLine = 'terse safe browsing lists 1\n';
const digestBytes = 32;
const sliceBytes = 4 * 1024 * 1024;
const headerBytesMax = 64 * 1024;

export class SharedFolder {
  readonly #folder: string;
  readonly #server: string;
  readonly #listPath: string;
  readonly #backOffPath: string;
  /** Identifies a state of a file; undefined before the first look. */
  readonly #seen = new Map<string, string>();

  constructor(folder: string, server: string) {
    this.#folder = folder;
    this.#server = server;
    this.#listPath = join(folder, 'v5-lists');
    this.#backOffPath = join(folder, 'v5-back-off.json');
  }

  /** The lists if the file has changed since the last look; undefined also when it is missing or broken. */
  async changedLists(): Promise<ThreatList[] | undefined> {
    if (!(await this.#hasChanged(this.#listPath))) return undefined;
    const bytes = await readFile(this.#listPath).catch(() => undefined);
    return bytes && decodeLists(this.#server, bytes);
  }

  async changedBackOff(): Promise<BackOffState | undefined> {
    if (!(await this.#hasChanged(this.#backOffPath))) return undefined;
    const text = await readFile(this.#backOffPath, 'utf8').catch(() => '');
    return backOffOf(text, this.#server);
  }

  async saveLists(lists: readonly ThreatList[]): Promise<void> {
    await this.#save(this.#listPath, await encodeLists(this.#server, lists));
  }

  async saveBackOff(state: BackOffState): Promise<void> {
    await this.#save(this.#backOffPath, JSON.stringify({ server: this.#server, ...state }));
  }

  async #save(path: string, content: Buffer | string): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await writeFile(`${path}.new`, content);
    await rename(`${path}.new`, path);
    this.#seen.set(path, await stampOf(path));
  }

  async #hasChanged(path: string): Promise<boolean> {
    const stamp = await stampOf(path);
    if (this.#seen.get(path) === stamp) return false;
    this.#seen.set(path, stamp);
    return true;
  }
}

async function stampOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found === undefined ? 'missing' : `${found.ino} ${found.mtimeNs} ${found.size}`;
}

function backOffOf(text: string, server: string): BackOffState {
  try {
    const { server: whose, failures, until } = JSON.parse(text) as Partial<BackOffState & { server: string }>;
    const isOurs = whose === server && Number.isSafeInteger(failures) && Number.isFinite(until);
    return isOurs ? { failures: Math.max(0, failures!), until: until! } : noBackOff;
  } catch {
    return noBackOff;
  }
}

interface Header {
  readonly server: string;
  readonly lists: readonly {
    readonly name: string;
    readonly version: string;
    readonly updatedAt: number;
    readonly nextUpdateAt: number;
    /** How many prefixes of four bytes. */
    readonly fourByte: number;
  }[];
}

/**
 * Lists as bytes: a line that names the format, a line of JSON, the prefixes as little-endian numbers, and the SHA-256 of
 * all that.
 */
export async function encodeLists(server: string, lists: readonly ThreatList[]): Promise<Buffer> {
  const header: Header = {
    server,
    lists: lists.map(({ name, version, updatedAt, nextUpdateAt, prefixes }) => ({
      name,
      version: Buffer.from(version).toString('base64'),
      updatedAt,
      nextUpdateAt,
      fourByte: prefixes.size,
    })),
  };
  const body = lists.map(({ prefixes: { numbers } }) =>
    Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength),
  );
  const content = Buffer.concat([Buffer.from(`${formatLine}${JSON.stringify(header)}\n`), ...body]);
  return Buffer.concat([content, await digestOf(content)]);
}

/** Undefined when the bytes are not intact lists of this server. */
export async function decodeLists(server: string, bytes: Buffer): Promise<ThreatList[] | undefined> {
  const content = bytes.subarray(0, -digestBytes);
  if (content.length === 0 || !bytes.subarray(-digestBytes).equals(await digestOf(content))) return undefined;
  const headerEnd = content.subarray(0, headerBytesMax).indexOf('\n', formatLine.length);
  if (!content.subarray(0, formatLine.length).equals(Buffer.from(formatLine)) || headerEnd === -1)
    return undefined;
  // The digest guarantees that these are the bytes that `encodeLists` wrote.
  const header = JSON.parse(content.toString('utf8', formatLine.length, headerEnd)) as Header;
  if (header.server !== server) return undefined;
  let at = headerEnd + 1;
  return header.lists.map(({ name, version, updatedAt, nextUpdateAt, fourByte }) => {
    // Copied, because numbers must be aligned to four bytes and the file's buffer can then be freed.
    const numbers = new Uint8Array(content.subarray(at, at + fourByte * 4));
    at += numbers.length;
    return {
      name,
      version: Uint8Array.from(Buffer.from(version, 'base64')),
      updatedAt,
      nextUpdateAt,
      prefixes: new PrefixList(new Uint32Array(numbers.buffer)),
    };
  });
}

async function digestOf(content: Buffer): Promise<Buffer> {
  const digest = createHash('sha256');
  for (let at = 0; at < content.length; at += sliceBytes) {
    digest.update(content.subarray(at, at + sliceBytes));
    await yieldToEventLoop();
  }
  return digest.digest();
}
