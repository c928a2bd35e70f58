/** Terse inside the test's own process, on memory or SQLite: fast to start, and with a clock that a test can stop. */
import { rmSync } from 'node:fs';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { startTerse } from '../../src/compose.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Drivers } from '../../src/drivers.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { adminKey, temporaryFolder, withoutLimits } from './terse-process.ts';

export interface TerseHere {
  readonly url: string;
  readonly dataFolder: string;
  /** The log so far, for tests of what it must not contain. */
  readonly logged: () => string;
  stop(): Promise<void>;
}

export interface TerseHereOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly drivers?: Partial<Drivers>;
}

export async function startTerseHere({
  env = {},
  clock = systemClock,
  drivers = {},
}: TerseHereOptions = {}): Promise<TerseHere> {
  const dataFolder = temporaryFolder();
  const config = loadConfig({
    argv: [],
    env: { PORT: '0', TERSE_DATA: dataFolder, TERSE_ADMIN_KEY: adminKey, ...withoutLimits, ...env },
    readFile: path => {
      throw new Error(`unexpected read of ${path}`);
    },
  });
  let logged = '';
  const log = createLog({ level: 'debug', clock: systemClock, write: text => (logged += text) });
  const terse = await startTerse(config, log, { clock, drivers });
  return {
    url: `http://127.0.0.1:${terse.server.port}`,
    dataFolder,
    logged() {
      log.flush();
      return logged;
    },
    async stop() {
      await terse.stop();
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}
