/** The command line as it is installed: plain Node runs the launcher. */
import { join } from 'node:path';

export interface Outcome {
  readonly exitCode: number;
  /** One character per byte, because some commands print images. */
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** The whole environment except PATH; undefined variables are left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
}

const launcher = join(import.meta.dir, '../../bin/terse.mjs');

export async function runTerse(argv: readonly string[], { env, stdin = '' }: RunOptions): Promise<Outcome> {
  const child = Bun.spawn(['node', launcher, ...argv], {
    env: { PATH: process.env.PATH, ...env },
    stdin: new Blob([stdin]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    child.stdout.bytes(),
    child.stderr.text(),
    child.exited,
  ]);
  return { exitCode, stdout: Buffer.from(stdout).toString('latin1'), stderr };
}
