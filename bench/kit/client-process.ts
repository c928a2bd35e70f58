/** A program of this folder as a process of its own on given cores, which answers a plan with one line of JSON. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { boundTo } from './cores.ts';

export async function runClient<Report>(
  program: string,
  plan: object,
  cores: readonly number[],
): Promise<Report> {
  const command = [process.execPath, join(import.meta.dir, program), JSON.stringify(plan)];
  const client = Bun.spawn(boundTo(cores, command), { stdout: 'pipe', stderr: 'pipe' });
  const [output, errors] = await Promise.all([
    new Response(client.stdout).text(),
    new Response(client.stderr).text(),
  ]);
  if ((await client.exited) !== 0) throw new Error(`the load client failed: ${errors}`);
  return JSON.parse(output) as Report;
}

/** Raw requests are many, so a client is given a file of them: one after the other, NUL between. */
export async function withRequestsFile<Result>(
  folder: string,
  requests: readonly string[],
  work: (path: string) => Promise<Result>,
): Promise<Result> {
  const path = join(folder, `requests-${process.pid}-${Bun.nanoseconds()}`);
  await Bun.write(path, requests.join('\0'));
  try {
    return await work(path);
  } finally {
    rmSync(path, { force: true });
  }
}
