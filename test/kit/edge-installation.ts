/**
 * Terse behind a real edge cache that it purges, as an operator sets it up. Terse may be killed and started again: it
 * comes back at the same address, on the same data.
 */
import { rmSync } from 'node:fs';
import { CheckpointFile } from '../../src/base/checkpoint-file.ts';
import { positionPath } from '../../src/edge/start.ts';
import { statsAt } from './click-account.ts';
import { type Call, callerOf } from './client.ts';
import { runTerse } from './command-line.ts';
import type { Edge } from './engines/edge-configuration.ts';
import type { Engine } from './engines/engine-process.ts';
import { freeEnginePorts } from './engines/free-port.ts';
import { startNginxEdge } from './engines/nginx-edge.ts';
import { startVarnish } from './engines/varnish.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from './terse-process.ts';
import { until } from './until.ts';

export type EdgeKind = 'varnish' | 'nginx';
export type EdgeMode = 'log' | 'revalidate';

export class EdgeInstallation {
  readonly edge: Engine & Edge;
  readonly dataFolder: string;
  readonly #env: Readonly<Record<string, string>>;
  #terse: TerseProcess;

  private constructor(
    edge: Engine & Edge,
    dataFolder: string,
    env: Readonly<Record<string, string>>,
    terse: TerseProcess,
  ) {
    [this.edge, this.dataFolder, this.#env, this.#terse] = [edge, dataFolder, env, terse];
  }

  static async start(
    kind: EdgeKind,
    mode: EdgeMode,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<EdgeInstallation> {
    const [port] = freeEnginePorts(1);
    const origin = `127.0.0.1:${port}`;
    const edge =
      kind === 'varnish'
        ? await startVarnish(origin)
        : await startNginxEdge(origin, mode === 'log' ? 'edge.conf' : 'edge-revalidate.conf');
    const dataFolder = temporaryFolder();
    // As if everything were purged: otherwise Terse would first purge everything, and no single purge would prove
    // anything.
    new CheckpointFile(positionPath({ data: dataFolder }, edge.purgeAddress)).write(0);
    const env = {
      PORT: String(port),
      TERSE_EDGE_TTL_S: '600',
      TERSE_EDGE_CLICKS: mode,
      TERSE_EDGE_PURGE: edge.purgeAddress,
      TERSE_TRUSTED_PROXIES: '127.0.0.1/32',
      ...settings,
    };
    const terse = await startTerseProcess({ dataFolder, env }).catch(async error => {
      await edge.stop();
      throw error;
    });
    const installation = new EdgeInstallation(edge, dataFolder, env, terse);
    await installation.isServed();
    return installation;
  }

  get terse(): TerseProcess {
    return this.#terse;
  }

  get call(): Call {
    return callerOf(this.#terse.url);
  }

  async restartTerse(): Promise<void> {
    this.#terse = await startTerseProcess({ dataFolder: this.dataFolder, env: this.#env });
    await this.isServed();
  }

  /** Waits until the edge has found Terse, for which it looks every second. */
  async isServed(): Promise<void> {
    await until('the edge to find Terse', async () => {
      const answer = await fetch(`${this.edge.url}/health/live`);
      await answer.arrayBuffer();
      return answer.status === 200;
    });
  }

  /** Redirects that Terse itself has answered. */
  async answeredByTerse(): Promise<number> {
    const text = await (await fetch(`${this.#terse.url}/metrics`)).text();
    return Number(/^url_redirects_total\{status="302"\} (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  /** Runs the command as an operator would; returns its report. */
  async importLog(): Promise<string> {
    const env = { ...this.#env, TERSE_DATA: this.dataFolder };
    const { stdout, stderr, exitCode } = await runTerse(['clicks', 'import', this.edge.logPath], { env });
    if (exitCode !== 0) throw new Error(`the import ended with ${exitCode}: ${stderr}`);
    return stdout;
  }

  /** Clicks of people and of machines, as the statistics of these links have them. */
  async counted(codes: readonly string[]): Promise<{ people: number; machines: number }> {
    const stats = await statsAt(this.#terse.url, `/api/v1/stats?codes=${codes.join(',')}`);
    return { people: stats.totalClicks, machines: stats.botClicks };
  }

  async stop(): Promise<void> {
    await this.edge.stop();
    await this.#terse.stop();
    rmSync(this.dataFolder, { recursive: true, force: true });
  }
}
