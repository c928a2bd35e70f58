/**
 * The entry: arguments in, exit code out. `serve` goes straight to the server and everything else to the
 * command line, each loaded only when needed, so that a server starts fast.
 */
import packageDocument from '../package.json' with { type: 'json' };
import type { GivenWorld, LocalWork, Output, SettingsAccess } from './cli/command.ts';
import {
  type Config,
  ConfigError,
  environmentOfProcess,
  loadConfig,
  loadConfigFromProcess,
  requireSupported,
} from './config/config.ts';
import { describeConfig, settingHelp } from './config/report.ts';
import type { Audience } from './config/settings.ts';
import { separateFlags, supervisedVariable } from './config/sources.ts';
import { beginWithCollectorSettings } from './process/collector-settings.ts';
import { privateUmask } from './process/data-files.ts';
import { requireStart } from './process/start-checks.ts';
import { placeOf } from './process/supervised.ts';

export interface MainWorld extends Omit<GivenWorld, 'version' | 'settings' | 'local'> {
  /** Makes the configuration from these flags and the environment of the process. */
  readonly loadConfig: (flags: readonly string[], audiences: readonly Audience[]) => Config;
}

export async function main(argv: readonly string[], world: MainWorld): Promise<number> {
  try {
    if (argv[0] === 'serve' && !argv.includes('--help') && !argv.includes('-h')) {
      return await startServer(argv.slice(1), world);
    }
    const { runCli } = await import('./cli/main.ts');
    const given = { version: packageDocument.version, settings: settingsFor(world), local: localWork };
    return await runCli(argv, { ...world, ...given });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    world.stderr.write(`terse: ${error.message}\n`);
    return 2;
  }
}

function settingsFor(world: MainWorld): SettingsAccess {
  return {
    load(argv, audiences) {
      if (audiences.length === 0) return { config: defaultConfig(), rest: argv };
      const { flags, rest } = separateFlags(argv, audiences);
      return { config: world.loadConfig(flags, audiences), rest };
    },
    help: settingHelp,
    describe: describeConfig,
    requireSupported,
  };
}

/** Engines are loaded only by the commands that work on them. */
const localWork: LocalWork = {
  async migrate(request, tell) {
    const { runMigrate } = await import('./tools/migrate/run.ts');
    return runMigrate(request, tell);
  },
  async *setUp(config) {
    const { setUp } = await import('./tools/setup.ts');
    yield* setUp(config);
  },
  async archive(config, restoreDay, tell) {
    const { useArchive } = await import('./tools/clicks.ts');
    return useArchive(config, restoreDay, tell);
  },
  async importClicks(config, log) {
    const { importClicks } = await import('./tools/clicks.ts');
    return importClicks(config, log);
  },
  async backUp(config, folder, tell) {
    const { runBackup } = await import('./tools/backup/run.ts');
    return runBackup(config, folder, tell);
  },
  async checkBackup(folder) {
    const { runCheck } = await import('./tools/backup/run.ts');
    return runCheck(folder);
  },
  async restore(config, folder, margin, tell) {
    const { runRestore } = await import('./tools/backup/run.ts');
    return runRestore(config, folder, margin, tell);
  },
  async marks(config, by) {
    const { runMarks } = await import('./tools/backup/run.ts');
    return runMarks(config, by);
  },
  async examine(config) {
    const { examine } = await import('./tools/doctor/examine.ts');
    return examine(config);
  },
};

function defaultConfig(): Config {
  return loadConfig({ argv: [], env: {}, readFile: () => '{}' });
}

async function startServer(flags: readonly string[], { loadConfig, stderr }: MainWorld): Promise<number> {
  const config = loadConfig(flags, ['server']);
  requireStart(config);
  const environment = environmentOfProcess();
  const place = placeOf(environment[supervisedVariable]);
  try {
    if (place !== undefined) {
      const { serveAsWorker } = await import('./process/serve-as-worker.ts');
      const { startTerse } = await import('./compose.ts');
      await serveAsWorker(config, place, startTerse);
    } else if (config.workers !== 1) {
      const { serveMany } = await import('./process/serve-many.ts');
      return await serveMany(config, { script: import.meta.path, flags, environment });
    } else {
      const { serve } = await import('./process/serve.ts');
      const { startTerse } = await import('./compose.ts');
      await serve(config, startTerse);
    }
    return 0;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    stderr.write(`terse: ${startFailure(error, config.port, config.logLevel === 'debug')}\n`);
    return 1;
  }
}

function startFailure(error: unknown, port: number, withStack: boolean): string {
  if (!(error instanceof Error)) return `the server could not start: ${String(error)}`;
  if ('code' in error && error.code === 'EADDRINUSE') {
    return `port ${port} is already in use: choose another with --port or PORT`;
  }
  return `the server could not start: ${(withStack && error.stack) || error.message}`;
}

function outputTo(stream: NodeJS.WriteStream): Output {
  // A reader that closed the pipe, such as `head`, is no failure of ours.
  stream.on('error', () => {});
  return {
    write: chunk => void stream.write(chunk),
    isTty: stream.isTTY === true,
    columns: stream.isTTY ? stream.columns : undefined,
  };
}

if (import.meta.main) {
  if (process.argv[2] === 'serve') beginWithCollectorSettings(environmentOfProcess());
  const inheritedUmask = process.umask(privateUmask);
  const exitCode = await main(process.argv.slice(2), {
    fetch: (url, init) => fetch(url, init),
    stdout: outputTo(process.stdout),
    stderr: outputTo(process.stderr),
    readStdin: () => Bun.stdin.stream(),
    async writeFile(path, bytes) {
      // An image is not secret: it follows the user's own umask.
      process.umask(inheritedUmask);
      await Bun.write(path, bytes).finally(() => process.umask(privateUmask));
    },
    loadConfig: loadConfigFromProcess,
  });
  // A server that failed during its start may have left timers and sockets; a command must flush its output.
  if (exitCode !== 0 && process.argv[2] === 'serve') process.exit(exitCode);
  process.exitCode = exitCode;
}
