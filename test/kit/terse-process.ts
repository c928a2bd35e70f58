/** Terse as an operator runs it: a separate process, on a free loopback port, with its own data folder. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BunFile } from 'bun';

export const adminKey = 'test-admin-key-0123456789';

/** A test's requests all come from one address, and most tests are not about limits. */
export const withoutLimits = {
  TERSE_LIMITS: 'off',
  TERSE_PROBE_LIMIT: 'off',
  TERSE_ADDRESS_SHARE_PERCENT: '100',
} as const;

export interface TerseProcessOptions {
  /** Share one to run several processes on the same data; otherwise a fresh one is made and removed at the end. */
  readonly dataFolder?: string;
  /** Settings; one that is undefined is left out, also when tests give it by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Changes the command, for example to bind it to a core. */
  readonly wrap?: (command: readonly string[]) => string[];
  /** Where its errors and log go; to our own stderr by default. */
  readonly stderr?: BunFile;
}

export interface TerseProcess {
  readonly url: string;
  /** Its output until it was ready. */
  readonly banner: string;
  readonly dataFolder: string;
  readonly pid: number;
  /** Ends the process at once, as a power cut would. */
  kill(): Promise<void>;
  /** Ends the process as an operator would, and removes the data folder if it was made for it. */
  stop(): Promise<number>;
}

const startMaxMs = 60_000;

export async function startTerseProcess(options: TerseProcessOptions = {}): Promise<TerseProcess> {
  const dataFolder = options.dataFolder ?? temporaryFolder();
  const { wrap = command => [...command], stderr = 'inherit' } = options;
  const command = [process.execPath, join(import.meta.dir, '../../src/main.ts'), 'serve'];
  const child = Bun.spawn(wrap(command), {
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      TERSE_DATA: dataFolder,
      TERSE_ADMIN_KEY: adminKey,
      TERSE_LOG_LEVEL: 'error',
      ...withoutLimits,
      ...options.env,
    },
    stdout: 'pipe',
    stderr,
    stdin: 'ignore',
  });
  const { url, banner } = await ready(child.stdout).catch(error => {
    // Only this function can end it: the caller never learns its process id.
    child.kill('SIGKILL');
    throw error;
  });
  return {
    url,
    banner,
    dataFolder,
    pid: child.pid,
    async kill() {
      child.kill('SIGKILL');
      await child.exited;
    },
    async stop() {
      child.kill('SIGTERM');
      const exitCode = await child.exited;
      if (options.dataFolder === undefined) rmSync(dataFolder, { recursive: true, force: true });
      return exitCode;
    },
  };
}

/** The admin key that the first start on a folder made; undefined if there is no file. */
export function firstKeyIn(dataFolder: string): string | undefined {
  const path = join(dataFolder, 'admin-key');
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'terse-test-'));
}

/** Reads the banner until it says where the server listens; loopback by address, so no name is looked up. */
async function ready(stdout: ReadableStream<Uint8Array>): Promise<Pick<TerseProcess, 'url' | 'banner'>> {
  const reader = stdout.getReader();
  const decoder = new TextDecoder();
  const deadline = Bun.sleep(startMaxMs).then(() => ({ done: true, value: undefined }) as const);
  let banner = '';
  for (;;) {
    const { done, value } = await Promise.race([reader.read(), deadline]);
    if (done) throw new Error(`Terse did not start: ${banner}`);
    banner += decoder.decode(value, { stream: true });
    const [, scheme, port] = /ready at (https?):\/\/localhost:(\d+)/.exec(banner) ?? [];
    if (port !== undefined) {
      reader.releaseLock();
      return { url: `${scheme}://127.0.0.1:${port}`, banner };
    }
  }
}
