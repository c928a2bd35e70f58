/** Real nginx as an edge cache in front of Terse, with the configuration that Terse comes with. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployedConfiguration, type Edge } from './edge-configuration.ts';
import { type Engine, EngineProcess, startEngine } from './engine-process.ts';
import { thingOf } from './found.ts';
import { findNginxEdge } from './nginx-programs.ts';

export interface NginxEdge extends Engine, Edge {}

export type NginxEdgeFile = 'edge.conf' | 'edge-revalidate.conf';

/** An exclusive one, which the caller stops. `origin` is where Terse answers, as `host:port`. */
export function startNginxEdge(origin: string, file: NginxEdgeFile): Promise<NginxEdge> {
  return startEngine('nginx', (folder, port) => new NginxEdgeProcess(folder, port, origin, file));
}

class NginxEdgeProcess extends EngineProcess implements NginxEdge {
  readonly url: string;
  readonly purgeAddress: string;
  readonly logPath: string;

  constructor(folder: string, port: number, origin: string, file: NginxEdgeFile) {
    const { server, purgeModule, env } = thingOf(findNginxEdge());
    const url = `http://127.0.0.1:${port}`;
    const logPath = join(folder, 'edge.log');
    const configuration = join(folder, 'nginx.conf');
    const kept = join(folder, 'kept');
    mkdirSync(kept, { recursive: true });
    const edge = deployedConfiguration(`nginx/${file}`, {
      'listen 80;': `listen 127.0.0.1:${port} backlog=4096;`,
      '127.0.0.1:8080': origin,
      '/var/cache/nginx/terse': kept,
      '/var/log/nginx/terse-edge.log': logPath,
    });
    writeFileSync(
      configuration,
      `load_module ${purgeModule};\n${nginxProcess(folder)}http {\n${nginxFolders(folder)}\n${edge}}\n`,
    );
    super(folder, {
      name: 'nginx',
      command: [server, '-c', configuration, '-p', folder, '-e', join(folder, 'error.log')],
      env,
      stopSignal: 'SIGTERM',
      isReady: async () => (await fetch(`${url}/purge/0`, { method: 'PURGE' })).status !== 502,
    });
    [this.url, this.purgeAddress, this.logPath] = [url, `${url}/purge/{code}`, logPath];
  }
}

/** The first lines of a configuration. A process that runs as root has to name the user to run as. */
export const nginxProcess = (folder: string): string => `
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${join(folder, 'nginx.pid')};
events { worker_connections 4096; }
`;

/** Where it keeps its temporary files. */
export const nginxFolders = (folder: string): string =>
  ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(name => `  ${name}_temp_path ${join(folder, name)};`)
    .join('\n');
