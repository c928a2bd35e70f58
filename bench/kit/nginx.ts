/**
 * nginx as the yardstick: `return 302` from a map, access log on, one process without a master, so that its CPU
 * time is all in one place, as Terse's is.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unpackPackages } from './debian-packages.ts';

export interface Nginx {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

const readyTries = 200;
const readyPauseMs = 10;

export async function findNginx(cacheFolder: string): Promise<string | undefined> {
  const installed = Bun.which('nginx');
  if (installed !== null) return installed;
  const folder = join(cacheFolder, 'nginx');
  const unpacked = await unpackPackages(folder, ['nginx', 'nginx-common'], 'usr/sbin/nginx');
  if (!unpacked) return undefined;
  const program = join(folder, 'usr/sbin/nginx');
  return (await Bun.spawn([program, '-v'], { stdout: 'ignore', stderr: 'ignore' }).exited) === 0
    ? program
    : undefined;
}

/** `folder` takes its configuration and its log; `targets` is what each code leads to. */
export async function startNginx(
  program: string,
  folder: string,
  targets: ReadonlyMap<string, string>,
): Promise<Nginx> {
  mkdirSync(folder, { recursive: true });
  const port = freePort();
  const configuration = join(folder, 'nginx.conf');
  writeFileSync(configuration, configurationText(folder, port, targets));
  const child = Bun.spawn([program, '-c', configuration, '-e', join(folder, 'error.log')], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  });
  const url = `http://127.0.0.1:${port}`;
  await untilItAnswers(url);
  return {
    url,
    pid: child.pid,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

function configurationText(folder: string, port: number, targets: ReadonlyMap<string, string>): string {
  const rows = [...targets].map(([code, target]) => `    "/${code}" "${target}";`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
master_process off;
pid ${join(folder, 'nginx.pid')};
error_log ${join(folder, 'error.log')};
events { worker_connections 4096; }
http {
  access_log ${join(folder, 'access.log')};
  keepalive_requests 1000000000;
  map_hash_max_size 1048576;
  map_hash_bucket_size 256;
${temporary.map(name => `  ${name}_temp_path ${join(folder, name)};`).join('\n')}
  map $uri $target {
${rows.join('\n')}
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      if ($target = "") { return 404; }
      add_header Cache-Control "private, max-age=0";
      add_header Referrer-Policy "strict-origin-when-cross-origin";
      add_header X-Robots-Tag "noindex";
      return 302 $target;
    }
  }
}
`;
}

function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

async function untilItAnswers(url: string): Promise<void> {
  for (let attempt = 0; attempt < readyTries; attempt += 1) {
    const answered = await fetch(url, { redirect: 'manual' }).then(
      () => true,
      () => false,
    );
    if (answered) return;
    await Bun.sleep(readyPauseMs);
  }
  throw new Error(`nginx did not start at ${url}`);
}
