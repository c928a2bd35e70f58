/**
 * The `wrk` load generator: from PATH, from an earlier run, or unpacked from the distribution's packages into the
 * cache folder. Nothing is installed, and a machine that has no such packages does without.
 */
import { join } from 'node:path';
import { unpackPackages } from '../../test/kit/engines/debian-packages.ts';
import { boundTo } from './cores.ts';
import type { LoadCounts } from './load.ts';

export interface Wrk {
  readonly program: string;
  /** The folder of its libraries if it was unpacked. */
  readonly libraries: string | undefined;
}

export interface WrkPlan {
  readonly url: string;
  readonly connections: number;
  readonly durationS: number;
  readonly requestsFile: string;
  readonly cores: readonly number[];
}

const packages = ['wrk', 'libluajit-5.1-2'];

export async function findWrk(cacheFolder: string): Promise<Wrk | undefined> {
  const installed = Bun.which('wrk');
  if (installed !== null) return { program: installed, libraries: undefined };
  const folder = join(cacheFolder, 'wrk');
  const program = join(folder, 'usr/bin/wrk');
  if (!unpackPackages(folder, packages, 'usr/bin/wrk')) return undefined;
  const [library] = await Array.fromAsync(new Bun.Glob('usr/lib/*/libluajit-5.1.so.2').scan({ cwd: folder }));
  const wrk = { program, libraries: library === undefined ? undefined : join(folder, library, '..') };
  // `--version` prints the version, but exits with 1.
  return (await outputOf([program, '--version'], wrk)).includes('wrk') ? wrk : undefined;
}

export async function runWrk(wrk: Wrk, plan: WrkPlan): Promise<LoadCounts> {
  const command = [
    wrk.program,
    `--threads=${Math.max(1, plan.cores.length)}`,
    `--connections=${plan.connections}`,
    `--duration=${plan.durationS}s`,
    '--timeout=10s',
    `--script=${join(import.meta.dir, 'wrk-script.lua')}`,
    plan.url,
    '--',
    plan.requestsFile,
  ];
  const output = await outputOf(boundTo(plan.cores, command), wrk);
  const report = /^report (.+)$/m.exec(output)?.[1];
  if (report === undefined) throw new Error(`wrk gave no report: ${output}`);
  const counts = JSON.parse(report) as Record<string, number>;
  return {
    requests: counts.requests!,
    perSecond: counts.requests! / (counts.durationUs! / 1e6),
    p50Ms: counts.p50! / 1_000,
    p99Ms: counts.p99! / 1_000,
    p999Ms: counts.p999! / 1_000,
    maxMs: counts.max! / 1_000,
    refusals: counts.refusals!,
    failures: counts.failures!,
  };
}

async function outputOf(command: string[], { libraries }: Wrk): Promise<string> {
  const child = Bun.spawn(command, {
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env.PATH, ...(libraries !== undefined && { LD_LIBRARY_PATH: libraries }) },
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  await child.exited;
  return output + errors;
}
