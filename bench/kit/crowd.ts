/** Brings a crowd to a server for as long as some work takes. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { boundTo } from './cores.ts';
import type { CrowdEnding, CrowdOpening, CrowdPlan } from './crowd-client.ts';
import { jsonLines } from './json-lines.ts';

export interface CrowdOptions {
  readonly plan: CrowdPlan;
  readonly cores: readonly number[];
  /** For the plan, which may be long. */
  readonly folder: string;
}

export async function withCrowd<Result>(
  { plan, cores, folder }: CrowdOptions,
  work: (opening: CrowdOpening) => Promise<Result>,
): Promise<{ readonly result: Result; readonly ending: CrowdEnding }> {
  const planFile = join(folder, `crowd-${process.pid}-${Bun.nanoseconds()}`);
  await Bun.write(planFile, JSON.stringify(plan));
  const command = [process.execPath, join(import.meta.dir, 'crowd-client-process.ts'), planFile];
  const crowd = Bun.spawn(boundTo(cores, command), { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
  try {
    const lines = jsonLines(crowd.stdout);
    const result = await work((await next(lines)) as CrowdOpening);
    crowd.stdin.end();
    return { result, ending: (await next(lines)) as CrowdEnding };
  } finally {
    crowd.kill();
    await crowd.exited;
    rmSync(planFile, { force: true });
  }
}

async function next(lines: AsyncIterator<unknown>): Promise<unknown> {
  const { done, value } = await lines.next();
  if (done) throw new Error('the crowd left before its time');
  return value;
}
