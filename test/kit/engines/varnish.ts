/**
 * Real Varnish as an edge cache in front of Terse, with the configuration that Terse comes with, and beside it the
 * program that writes its log.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployedConfiguration, type Edge } from './edge-configuration.ts';
import { type Engine, EngineProcess, startEngine } from './engine-process.ts';
import { thingOf } from './found.ts';
import { findVarnish } from './varnish-programs.ts';

export interface Varnish extends Engine, Edge {}

/** The format in docs/operations/edge.md. */
export const varnishLogFormat = [
  '%{VSL:Timestamp:Start[1]}x',
  '%{Varnish:vxid}x',
  '%s',
  '%{Varnish:handling}x',
  '%m',
  '%U%q',
  '%h',
  '%{User-Agent}i',
  '%{Referer}i',
].join('\\t');

/** An exclusive one, which the caller stops. `origin` is where Terse answers, as `host:port`. */
export async function startVarnish(origin: string): Promise<Varnish> {
  const varnish = await startEngine('varnish', (folder, port) => new VarnishProcess(folder, port, origin));
  await varnish.startLog();
  return varnish;
}

class VarnishProcess extends EngineProcess implements Varnish {
  readonly url: string;
  readonly purgeAddress: string;
  readonly logPath: string;
  readonly #log: EngineProcess;

  constructor(folder: string, port: number, origin: string) {
    const { server, log, modules, env } = thingOf(findVarnish());
    const [host = '', originPort = ''] = origin.split(':');
    const url = `http://127.0.0.1:${port}`;
    const configuration = join(folder, 'terse.vcl');
    writeFileSync(
      configuration,
      deployedConfiguration('varnish/terse.vcl', {
        '.host = "127.0.0.1";': `.host = "${host}";`,
        '.port = "8080";': `.port = "${originPort}";`,
      }),
    );
    const workFolder = join(folder, 'work');
    super(folder, {
      name: 'Varnish',
      command: [
        ...[server, '-F', '-n', workFolder, '-a', `127.0.0.1:${port}`, '-f', configuration],
        ...['-s', 'malloc,64m', '-p', `vmod_path=${modules}`],
        ...(process.getuid?.() === 0 ? ['-j', 'none'] : []),
      ],
      env,
      stopSignal: 'SIGTERM',
      isReady: async () => (await fetch(url, { method: 'PURGE' })).status === 400,
    });
    const logPath = join(folder, 'edge.log');
    // The watchdog identifies processes by their folders.
    const logFolder = join(folder, 'log');
    mkdirSync(logFolder, { recursive: true });
    this.#log = new EngineProcess(logFolder, {
      name: 'varnishncsa',
      command: [log, '-n', workFolder, '-w', logPath, '-a', '-F', varnishLogFormat],
      env,
      stopSignal: 'SIGTERM',
      isReady: async () => existsSync(logPath),
    });
    [this.url, this.purgeAddress, this.logPath] = [url, `${url}/`, logPath];
  }

  startLog(): Promise<void> {
    return this.#log.start();
  }

  override async stop(): Promise<void> {
    await this.#log.kill();
    await super.stop();
  }
}
