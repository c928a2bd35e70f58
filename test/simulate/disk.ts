/**
 * The simulated disk of one machine, under the click path's files. Every process of the machine sees writes at once,
 * and they survive a crash of a process. A power cut loses writes that were not synced, completely or in part: any
 * prefix of an unsynced write may be left. A full disk rejects writes, and a write may fail in the middle.
 */
import { type Files, files } from '../../src/base/files.ts';
import { bugs } from './bugs.ts';
import type { Kernel } from './kernel.ts';

interface SimFile {
  bytes: Uint8Array;
  /** The contents that survive a power cut; undefined for a file whose creation was never synced. */
  durable: Uint8Array | undefined;
}

interface Handle {
  readonly path: string;
  readonly file: SimFile;
  readonly isAppending: boolean;
}

const failure = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code });

export class SimDisk {
  readonly #kernel: Kernel;
  readonly #folders = new Set<string>(['/']);
  readonly #files = new Map<string, SimFile>();
  readonly #handles = new Map<number, Handle>();
  #lastHandle = 100;
  #roomBytes = 0;
  /** The next write stops in the middle, together with its process. */
  isTorn = false;
  onTorn: () => void = () => {};

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  #isFull = false;

  get isFull(): boolean {
    return this.#isFull;
  }

  set isFull(isFull: boolean) {
    this.#isFull = isFull;
    this.#roomBytes = isFull ? this.#kernel.between(0, 100) : 0;
  }

  /** Replaces the platform's file system; the returned function restores it. */
  install(): () => void {
    const own = { ...files };
    Object.assign(files, this.#calls());
    return () => void Object.assign(files, own);
  }

  powerCut(): void {
    this.#handles.clear();
    for (const [path, file] of this.#files) {
      if (file.durable === undefined) {
        this.#files.delete(path);
        continue;
      }
      file.bytes = this.#leftOf(file.bytes, file.durable);
      file.durable = file.bytes.slice();
    }
  }

  /** The kernel writes back pages now and then; a mapped file is otherwise never synced. */
  writeBack(): void {
    for (const file of this.#files.values()) file.durable = file.bytes.slice();
  }

  namesBelow(folder: string): string[] {
    return [...this.#files.keys()].filter(path => path.startsWith(`${folder}/`));
  }

  /** Appended bytes may be there up to any point; changed ones as before or as after. */
  #leftOf(bytes: Uint8Array, durable: Uint8Array): Uint8Array {
    const kernel = this.#kernel;
    if (bytes.length <= durable.length) return kernel.chance(0.5) ? bytes : durable.slice();
    const kept = kernel.between(durable.length, bytes.length);
    return bytes.slice(0, kept);
  }

  #calls(): Partial<Files> {
    const find = (path: string): SimFile => {
      const file = this.#files.get(path);
      if (file === undefined) throw failure('ENOENT', path);
      return file;
    };
    const open = (path: string, flags: string): number => {
      this.#requireLife();
      if (flags.includes('x') && this.#files.has(path)) throw failure('EEXIST', path);
      if (!this.#files.has(path)) {
        if (!/[aw]/.test(flags)) throw failure('ENOENT', path);
        if (this.isFull) throw failure('ENOSPC', path);
        if (!this.#folders.has(parentOf(path))) throw failure('ENOENT', path);
        this.#files.set(path, { bytes: new Uint8Array(), durable: undefined });
      }
      this.#lastHandle += 1;
      this.#handles.set(this.#lastHandle, { path, file: find(path), isAppending: flags.includes('a') });
      return this.#lastHandle;
    };
    const handle = (number: number): Handle => {
      this.#requireLife();
      const found = this.#handles.get(number);
      if (found === undefined) throw failure('EBADF', String(number));
      return found;
    };
    const list = (folder: string): string[] => {
      if (!this.#folders.has(folder)) throw failure('ENOENT', folder);
      const below = [...this.#files.keys(), ...this.#folders].filter(path => path.startsWith(`${folder}/`));
      return [...new Set(below.map(path => path.slice(folder.length + 1).split('/')[0]!))].sort();
    };
    const calls = {
      accessSync: (path: string) => void list(path),
      existsSync: (path: string) => this.#files.has(path) || this.#folders.has(path),
      openSync: open,
      closeSync: (number: number) => void this.#handles.delete(number),
      fsyncSync: (number: number) => {
        const { file } = handle(number);
        if (!bugs.has('no-fsync')) file.durable = file.bytes.slice();
      },
      ftruncateSync: (number: number, length: number) => {
        const { file } = handle(number);
        file.bytes = file.bytes.slice(0, length);
      },
      writeSync: (
        number: number,
        data: Uint8Array | string,
        from = 0,
        length?: number,
        position?: number,
      ) => {
        const { file, path, isAppending } = handle(number);
        const bytes = typeof data === 'string' ? Buffer.from(data) : data;
        let part = bytes.subarray(from, from + (length ?? bytes.length - from));
        if (this.isTorn) part = part.subarray(0, this.#kernel.between(0, part.length - 1));
        const at = isAppending ? file.bytes.length : (position ?? file.bytes.length);
        if (this.isFull && at + part.length > file.bytes.length) {
          // The first write to a disk that becomes full is a short one.
          if (this.#roomBytes === 0) throw failure('ENOSPC', path);
          part = part.subarray(0, this.#roomBytes);
          this.#roomBytes = 0;
        }
        const grown = new Uint8Array(Math.max(file.bytes.length, at + part.length));
        grown.set(file.bytes);
        grown.set(part, at);
        file.bytes = grown;
        if (!this.isTorn) return part.length;
        this.isTorn = false;
        this.onTorn();
        throw failure('EIO', path);
      },
      writeFileSync: (path: string, data: Uint8Array | string) => {
        const number = open(path, 'w');
        this.#handles.get(number)!.file.bytes = Uint8Array.from(Buffer.from(data as Uint8Array));
        this.#handles.delete(number);
      },
      readSync: (number: number, into: Uint8Array, offset: number, length: number, position: number) => {
        const part = handle(number).file.bytes.subarray(position, position + length);
        into.set(part, offset);
        return part.length;
      },
      readFileSync: (path: string, encoding?: string) => {
        const bytes = Buffer.from(find(path).bytes);
        return encoding === undefined ? bytes : bytes.toString('utf8');
      },
      readdirSync: list,
      statSync: (path: string, options?: { throwIfNoEntry?: boolean }) => {
        const file = this.#files.get(path);
        if (file !== undefined) return { size: file.bytes.length };
        if (options?.throwIfNoEntry === false) return undefined;
        throw failure('ENOENT', path);
      },
      mkdirSync: (path: string) => {
        this.#requireLife();
        for (let at = path; at !== '/'; at = parentOf(at)) this.#folders.add(at);
      },
      renameSync: (from: string, to: string) => {
        this.#requireLife();
        const isThere = this.#files.has(from) || this.#folders.has(from);
        if (!isThere || bugs.has('spill-stays')) throw failure('ENOENT', from);
        if (this.#folders.has(to) && list(to).length > 0) throw failure('ENOTEMPTY', to);
        for (const [path, file] of [...this.#files]) {
          if (path !== from && !path.startsWith(`${from}/`)) continue;
          this.#files.delete(path);
          this.#files.set(to + path.slice(from.length), file);
        }
        if (this.#folders.delete(from)) this.#folders.add(to);
      },
      rmSync: (path: string) => {
        this.#requireLife();
        for (const name of [...this.#files.keys()])
          if (name === path || name.startsWith(`${path}/`)) this.#files.delete(name);
        for (const name of [...this.#folders])
          if (name === path || name.startsWith(`${path}/`)) this.#folders.delete(name);
      },
      rmdirSync: (path: string) => {
        this.#requireLife();
        if (list(path).length > 0) throw failure('ENOTEMPTY', path);
        this.#folders.delete(path);
      },
      // Numbers are written directly to the file's bytes.
      mapFile: (path: string) => find(path).bytes,
    };
    return calls as unknown as Files;
  }

  /** Makes calls of a dead process fail without effect. */
  #requireLife(): void {
    const { current } = this.#kernel;
    if (current.isOver) throw failure('EIO', `${current.name} is dead`);
  }
}

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/';
