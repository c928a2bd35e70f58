/**
 * What the processes of one data folder share: the lists, and how long the server is left alone after a failure.
 * Files are replaced whole, so a reader sees the old one or the new one; only who holds the updater's lock writes.
 */
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SafeBrowsingApi } from './api.ts';
import { type BackOffState, noBackOff } from './back-off.ts';
import { decodeLists, encodeLists } from './list-file.ts';
import type { ThreatList } from './lists.ts';

export class SharedFolder {
  readonly #folder: string;
  readonly #server: string;
  readonly #listPath: string;
  readonly #backOffPath: string;
  /** What tells one state of a file from another; undefined before the first look. */
  readonly #seen = new Map<string, string>();

  constructor(folder: string, { server, version }: Pick<SafeBrowsingApi, 'server' | 'version'>) {
    this.#folder = folder;
    this.#server = server;
    this.#listPath = join(folder, `${version}-lists`);
    this.#backOffPath = join(folder, `${version}-back-off.json`);
  }

  /** The lists if the file is another than at the last look; undefined also when it is missing or broken. */
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
