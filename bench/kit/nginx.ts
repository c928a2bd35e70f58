/**
 * nginx as the baseline: `return 302` from a map, access log on. With one worker it is one process without a master,
 * like Terse; with several it is a master and its workers, which share the port evenly.
 */
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { unpackPackages } from '../../test/kit/engines/debian-packages.ts';
import { boundTo } from './cores.ts';
import { freePort } from './free-port.ts';

export interface Nginx {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface NginxOptions {
  readonly program: string;
  /** The folder for its configuration and log. */
  readonly folder: string;
  /** The destination of each code. */
  readonly targets: Iterable<readonly [code: string, target: string]>;
  /** With TLS: the files of the certificate and its key, and the ciphers for TLS 1.2. */
  readonly tls?: { readonly certificate: string; readonly key: string; readonly ciphers: string };
  readonly workers: number;
  readonly cores: readonly number[];
}

/** A million codes take a few seconds to be made into a map. */
const readyMaxMs = 60_000;
const readyPauseMs = 10;

export async function findNginx(cacheFolder: string): Promise<string | undefined> {
  const installed = Bun.which('nginx');
  if (installed !== null) return installed;
  const folder = join(cacheFolder, 'nginx');
  const unpacked = unpackPackages(folder, ['nginx', 'nginx-common'], 'usr/sbin/nginx');
  if (!unpacked) return undefined;
  const program = join(folder, 'usr/sbin/nginx');
  return (await Bun.spawn([program, '-v'], { stdout: 'ignore', stderr: 'ignore' }).exited) === 0
    ? program
    : undefined;
}

export async function startNginx(options: NginxOptions): Promise<Nginx> {
  const { program, folder, cores } = options;
  mkdirSync(folder, { recursive: true });
  const port = freePort();
  const configuration = join(folder, 'nginx.conf');
  writeMap(join(folder, 'targets.map'), options.targets);
  writeFileSync(configuration, configurationText(options, port));
  const command = [program, '-c', configuration, '-e', join(folder, 'error.log')];
  const child = Bun.spawn(boundTo(cores, command), { stdin: 'ignore', stdout: 'ignore', stderr: 'inherit' });
  const stop = async (): Promise<void> => {
    child.kill();
    await child.exited;
  };
  const url = `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  await untilItAnswers(url, () => child.exitCode !== null).catch(async error => {
    await stop();
    throw error;
  });
  return { url, pid: child.pid, stop };
}

/** nginx compares keys case-insensitively, so codes that differ only in case are left out. */
export function mapRows(targets: NginxOptions['targets']): string[] {
  const seen = new Set<string>();
  const rows: string[] = [];
  for (const [code, target] of targets) {
    const known = seen.size;
    if (seen.add(code.toLowerCase()).size > known) rows.push(`"/${code}" "${target}";\n`);
  }
  return rows;
}

function writeMap(path: string, targets: NginxOptions['targets']): void {
  const rowsAtOnce = 10_000;
  const rows = mapRows(targets);
  const file = openSync(path, 'w');
  for (let first = 0; first < rows.length; first += rowsAtOnce)
    writeSync(file, rows.slice(first, first + rowsAtOnce).join(''));
  closeSync(file);
}

function configurationText({ folder, workers, tls }: NginxOptions, port: number): string {
  const encrypted = tls && [
    `ssl_certificate ${tls.certificate};`,
    `ssl_certificate_key ${tls.key};`,
    'ssl_protocols TLSv1.2 TLSv1.3;',
    `ssl_ciphers ${tls.ciphers};`,
  ];
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  // A server that runs as root has to name the user of its workers.
  const user = process.getuid?.() === 0 && workers > 1 ? 'user root;' : '';
  return `
daemon off;
${user}
${workers > 1 ? `worker_processes ${workers};` : 'master_process off;'}
pid ${join(folder, 'nginx.pid')};
error_log ${join(folder, 'error.log')};
events { worker_connections 16384; }
http {
  access_log ${join(folder, 'access.log')};
  keepalive_requests 1000000000;
  map_hash_max_size 4194304;
  map_hash_bucket_size 128;
${temporary.map(name => `  ${name}_temp_path ${join(folder, name)};`).join('\n')}
  map $uri $target {
    include ${join(folder, 'targets.map')};
  }
  server {
    listen 127.0.0.1:${port}${workers > 1 ? ' reuseport' : ''} ${tls === undefined ? '' : ' ssl'} backlog=4096;
    ${encrypted?.join('\n    ') ?? ''}
    location / {
      if ($target = "") { return 404; }
      add_header Cache-Control "private, max-age=0";
      add_header Referrer-Policy "strict-origin-when-cross-origin";
      add_header X-Robots-Tag "noindex";
      return 302 $target;
    }
    location = /api/v1/links {
      default_type application/json;
      return 201 '{"shortCode":"0000000"}';
    }
  }
}
`;
}

export async function untilItAnswers(url: string, hasEnded: () => boolean): Promise<void> {
  for (const untilMs = performance.now() + readyMaxMs; performance.now() < untilMs && !hasEnded(); ) {
    const answered = await fetch(url, { redirect: 'manual', tls: { rejectUnauthorized: false } }).then(
      () => true,
      () => false,
    );
    if (answered) return;
    await Bun.sleep(readyPauseMs);
  }
  throw new Error(`nothing answers at ${url}`);
}
