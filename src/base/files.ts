/**
 * The file system under the click path. One object for the whole process, which the simulator (test/simulate) replaces
 * by a disk that loses what was not synced: handing it to every function that takes a path would only add noise.
 */
import * as fs from 'node:fs';

export interface Files
  extends Pick<
    typeof fs,
    | 'accessSync'
    | 'closeSync'
    | 'existsSync'
    | 'fsyncSync'
    | 'ftruncateSync'
    | 'mkdirSync'
    | 'openSync'
    | 'readdirSync'
    | 'readFileSync'
    | 'readSync'
    | 'renameSync'
    | 'rmdirSync'
    | 'rmSync'
    | 'statSync'
    | 'writeFileSync'
    | 'writeSync'
  > {
  /** The contents of a file as memory: a store to it outlives the process, though not a power cut. */
  mapFile(path: string): Uint8Array;
}

export const files: Files = { ...fs, mapFile: path => Bun.mmap(path, { shared: true }) };
