/** What a scenario is given and what it gives back. Adding one is a file and a line in the table of main.ts. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startTerseProcess, type TerseProcess } from '../../test/kit/terse-process.ts';
import type { LoadRunner } from './load.ts';
import type { BenchOptions } from './options.ts';
import type { Table } from './table.ts';

export interface Scenario {
  readonly name: string;
  readonly summary: string;
  run(bench: Bench): Promise<Table[]>;
}

export interface Bench {
  readonly options: BenchOptions;
  readonly load: LoadRunner;
  /** Kept between runs, for what is slow to make. */
  readonly cacheFolder: string;
  /** Says what is going on to whoever waits. */
  note(text: string): void;
  /**
   * Runs `work` with an empty folder and removes it afterwards. It lies on the disk of the project: the system's
   * temporary folder is often memory, where being durable costs nothing.
   */
  inFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result>;
  /** Runs `work` against a Terse of its own and stops it afterwards. */
  withTerse<Result>(
    options: BenchTerseOptions,
    work: (terse: TerseProcess) => Promise<Result>,
  ): Promise<Result>;
}

export interface BenchTerseOptions {
  readonly dataFolder: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function createBench(
  options: BenchOptions,
  parts: Pick<Bench, 'load' | 'cacheFolder' | 'note'>,
): Bench {
  const { cacheFolder } = parts;
  return {
    ...parts,
    options,
    async inFolder(work) {
      mkdirSync(cacheFolder, { recursive: true });
      const folder = mkdtempSync(join(cacheFolder, 'work-'));
      try {
        return await work(folder);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    async withTerse({ dataFolder, env = {} }, work) {
      const terse = await startTerseProcess({
        dataFolder,
        env: { ...(options.profile && profiling(join(cacheFolder, 'profiles'))), ...env },
      });
      try {
        return await work(terse);
      } finally {
        await terse.stop();
      }
    },
  };
}

/** Makes Bun write where the server's main thread spent its time, as text, when it ends. */
function profiling(folder: string): Record<string, string> {
  mkdirSync(folder, { recursive: true });
  return { BUN_OPTIONS: `--cpu-prof-md --cpu-prof-dir=${folder}` };
}
