/** `terse migrate` as an operator runs it: a separate process, which a test can kill at a moment of its choice. */
import { join } from 'node:path';

export interface MigrateRun {
  /** Resolves when it has printed a line that matches, or has ended. */
  until(line: RegExp): Promise<void>;
  /** Ends it at once, as a power cut would. */
  kill(): Promise<void>;
  /** Waits for its end. */
  readonly ended: Promise<{ exitCode: number; output: string }>;
}

export function startMigrate(from: string, to: string, ...more: string[]): MigrateRun {
  const main = join(import.meta.dir, '../../src/main.ts');
  const child = Bun.spawn([process.execPath, main, 'migrate', '--from', from, '--to', to, ...more], {
    env: { PATH: process.env.PATH },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let output = '';
  let onOutput = (): void => {};
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      output += decoder.decode(chunk, { stream: true });
      onOutput();
    }
  };
  const streams = Promise.all([read(child.stdout), read(child.stderr)]);
  const ended = streams.then(async () => ({ exitCode: await child.exited, output }));
  return {
    async until(line) {
      const seen = new Promise<void>(resolve => {
        onOutput = () => {
          if (line.test(output)) resolve();
        };
        onOutput();
      });
      await Promise.race([seen, ended]);
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    ended,
  };
}
