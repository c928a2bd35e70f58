/** The interface of scenarios. Adding one takes a file and a line in the table of main.ts. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BunFile } from 'bun';
import { startTerseProcess, type TerseProcess } from '../../test/kit/terse-process.ts';
import { boundTo, type Cores, splitCores } from './cores.ts';
import { freePort } from './free-port.ts';
import type { LoadRunner } from './load.ts';
import { type Nginx, type NginxOptions, startNginx } from './nginx.ts';
import type { BenchOptions } from './options.ts';
import type { PacedRunner } from './paced-load.ts';
import type { Table } from './table.ts';

export interface Scenario {
  readonly name: string;
  readonly summary: string;
  /** For a scenario that takes so long that it runs only when it is named. */
  readonly isOnRequest?: boolean;
  run(bench: Bench): Promise<Findings>;
}

export interface Findings {
  readonly tables: readonly Table[];
}

export interface Bench {
  readonly options: BenchOptions;
  readonly load: LoadRunner;
  readonly paced: PacedRunner;
  /** Kept between runs, for data that is slow to create. */
  readonly cacheFolder: string;
  /** Aborted when the user interrupts the bench: results so far are kept. */
  readonly interrupted: AbortSignal;
  /** Reports progress to the user. */
  note(text: string): void;
  /** The cores of each process when a server has this many. */
  coresFor(serving: number): Cores;
  /**
   * Runs `work` with an empty folder and removes it afterwards. It is on the disk of the project, because the system's
   * temporary folder is often in memory, where durability costs nothing.
   */
  inFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result>;
  /** Runs `work` against a new Terse and stops it afterwards. */
  withTerse<Result>(
    options: BenchTerseOptions,
    work: (terse: TerseProcess) => Promise<Result>,
  ): Promise<Result>;
  /** Runs `work` with a new nginx, or without if it is unavailable, and stops it afterwards. */
  withNginx<Result>(
    options: Pick<NginxOptions, 'folder' | 'targets' | 'tls'> & { readonly workers?: number },
    work: (nginx: Nginx | undefined) => Promise<Result>,
  ): Promise<Result>;
}

export interface BenchTerseOptions {
  readonly dataFolder: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Processes that serve, and the cores they have; one by default. */
  readonly workers?: number;
  readonly stderr?: BunFile;
}

export interface BenchParts extends Pick<Bench, 'load' | 'paced' | 'cacheFolder' | 'note' | 'interrupted'> {
  readonly cores: readonly number[];
  readonly nginxProgram: string | undefined;
}

export function createBench(options: BenchOptions, parts: BenchParts): Bench {
  const { load, paced, cacheFolder, note, interrupted, nginxProgram } = parts;
  const coresFor = (serving: number): Cores => splitCores(parts.cores, serving);
  return {
    options,
    load,
    paced,
    cacheFolder,
    note,
    interrupted,
    coresFor,
    async inFolder(work) {
      mkdirSync(cacheFolder, { recursive: true });
      const folder = mkdtempSync(join(cacheFolder, 'work-'));
      try {
        return await work(folder);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    async withTerse({ dataFolder, env = {}, workers = 1, stderr }, work) {
      const terse = await startTerseProcess({
        dataFolder,
        env: {
          ...(options.profile && profiling(join(cacheFolder, 'profiles'))),
          ...(workers > 1 && { TERSE_WORKERS: String(workers), PORT: String(freePort()) }),
          ...env,
        },
        wrap: command => boundTo(coresFor(workers).server, command),
        ...(stderr !== undefined && { stderr }),
      });
      try {
        return await work(terse);
      } finally {
        await terse.stop();
      }
    },
    async withNginx({ workers = 1, ...nginxOptions }, work) {
      if (nginxProgram === undefined) return work(undefined);
      const cores = coresFor(workers).server;
      const nginx = await startNginx({ ...nginxOptions, workers, cores, program: nginxProgram });
      try {
        return await work(nginx);
      } finally {
        await nginx.stop();
      }
    },
  };
}

/** Makes Bun write where the server's main thread spent its time, as text, when it ends. */
function profiling(folder: string): Record<string, string> {
  mkdirSync(folder, { recursive: true });
  return { BUN_OPTIONS: `--cpu-prof-md --cpu-prof-dir=${folder}` };
}
