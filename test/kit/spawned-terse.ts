/**
 * A Terse process that need not become ready, on a chosen port; its output and log can be read while it runs. For tests
 * of starts without an engine.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { freeEnginePorts } from './engines/free-port.ts';
import { adminKey, temporaryFolder, withoutLimits } from './terse-process.ts';

export interface SpawnedTerse {
  readonly url: string;
  readonly pid: number;
  /** Whether it has not ended. */
  isRunning(): boolean;
  /** The events of its log so far, in order. */
  events(): string[];
  /** Ends it as an operator would; returns its exit code. */
  stop(): Promise<number>;
}

export function spawnTerse(env: Readonly<Record<string, string>>): SpawnedTerse {
  const dataFolder = temporaryFolder();
  const [port] = freeEnginePorts(1);
  const child = Bun.spawn([process.execPath, join(import.meta.dir, '../../src/main.ts'), 'serve'], {
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      TERSE_DATA: dataFolder,
      TERSE_ADMIN_KEY: adminKey,
      TERSE_LOG_LEVEL: 'info',
      ...withoutLimits,
      ...env,
    },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  let logged = '';
  void collect(child.stderr, text => {
    logged += text;
  });
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    events: () => [...logged.matchAll(/"event":"([^"]*)"/g)].map(([, event]) => event!),
    async stop() {
      child.kill('SIGTERM');
      const exitCode = await child.exited;
      rmSync(dataFolder, { recursive: true, force: true });
      return exitCode;
    },
  };
}

async function collect(stream: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) take(decoder.decode(chunk, { stream: true }));
}
