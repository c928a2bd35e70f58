/**
 * The `wrk` load generator: from PATH, from an earlier run, or unpacked from the distribution's packages into the
 * cache folder. Nothing is installed, and a machine that has no such packages does without.
 */
import { join } from 'node:path';
import { unpackPackages } from './debian-packages.ts';
import type { ClientPlan, LoadResult } from './load.ts';

export interface Wrk {
  readonly program: string;
  /** Where its own libraries lie when it was unpacked. */
  readonly libraries: string | undefined;
}

const packages = ['wrk', 'libluajit-5.1-2'];

export async function findWrk(cacheFolder: string): Promise<Wrk | undefined> {
  const installed = Bun.which('wrk');
  if (installed !== null) return { program: installed, libraries: undefined };
  const folder = join(cacheFolder, 'wrk');
  const program = join(folder, 'usr/bin/wrk');
  if (!(await unpackPackages(folder, packages, 'usr/bin/wrk'))) return undefined;
  const [library] = await Array.fromAsync(new Bun.Glob('usr/lib/*/libluajit-5.1.so.2').scan({ cwd: folder }));
  const wrk = { program, libraries: library === undefined ? undefined : join(folder, library, '..') };
  // It answers --version with exit code 1, but it answers.
  return (await outputOf([program, '--version'], wrk)).includes('wrk') ? wrk : undefined;
}

export async function runWrk(wrk: Wrk, plan: ClientPlan): Promise<LoadResult> {
  const command = [
    wrk.program,
    '--threads=1',
    `--connections=${plan.connections}`,
    `--duration=${plan.durationS}s`,
    '--timeout=10s',
    `--script=${join(import.meta.dir, 'wrk-script.lua')}`,
    plan.url,
    '--',
    plan.requestsFile,
  ];
  const output = await outputOf(command, wrk);
  const report = /^report (.+)$/m.exec(output)?.[1];
  if (report === undefined) throw new Error(`wrk gave no report: ${output}`);
  const { durationUs, requests, failures, ...latencyUs } = JSON.parse(report) as Record<string, number>;
  return {
    requests: requests!,
    perSecond: requests! / (durationUs! / 1e6),
    p50Ms: latencyUs.p50! / 1_000,
    p99Ms: latencyUs.p99! / 1_000,
    p999Ms: latencyUs.p999! / 1_000,
    maxMs: latencyUs.max! / 1_000,
    failures: failures!,
  };
}

async function outputOf(command: string[], { libraries }: Wrk): Promise<string> {
  const child = Bun.spawn(command, {
    stdout: 'pipe',
    stderr: 'pipe',
    env: libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries },
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  await child.exited;
  return output + errors;
}
