/** Real Prometheus for tests: it scrapes the given targets and answers queries about them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Engine, EngineProcess, startEngine } from './engine-process.ts';
import { thingOf } from './found.ts';
import { findPrometheus } from './prometheus-programs.ts';

export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  /** When, and what; the latter as text, because it need not be a number. */
  readonly value: readonly [number, string];
}

export interface PrometheusEngine extends Engine {
  /** The answer to a query at this moment; rejects with what is wrong with it. */
  query(text: string): Promise<readonly Series[]>;
}

export interface PrometheusOptions {
  /** What to scrape each second, as `host:port`. */
  readonly target: string;
}

/** An exclusive one, which the caller stops. */
export function startPrometheus(options: PrometheusOptions): Promise<PrometheusEngine> {
  return startEngine('prometheus', (folder, port) => new PrometheusProcess(folder, port, options));
}

class PrometheusProcess extends EngineProcess implements PrometheusEngine {
  readonly #url: string;

  constructor(folder: string, port: number, { target }: PrometheusOptions) {
    const { server, env } = thingOf(findPrometheus());
    const url = `http://127.0.0.1:${port}`;
    const path = join(folder, 'prometheus.yaml');
    writeFileSync(path, configurationOf(target));
    super(folder, {
      name: 'Prometheus',
      command: [
        server,
        `--config.file=${path}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=warn',
      ],
      env,
      stopSignal: 'SIGTERM',
      isReady: async () => (await fetch(`${url}/-/ready`)).ok,
    });
    this.#url = url;
  }

  async query(text: string): Promise<readonly Series[]> {
    const answer = await fetch(`${this.#url}/api/v1/query`, {
      method: 'POST',
      body: new URLSearchParams({ query: text }),
    });
    const { status, error, data } = (await answer.json()) as {
      status: string;
      error?: string;
      data?: { result: readonly Series[] };
    };
    if (status !== 'success' || data === undefined) throw new Error(`${text}: ${error}`);
    return data.result;
  }
}

const configurationOf = (target: string): string => `
global:
  scrape_interval: 1s
  scrape_timeout: 1s
scrape_configs:
  - job_name: terse
    static_configs:
      - targets: ['${target}']
`;
