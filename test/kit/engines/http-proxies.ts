/**
 * nginx, HAProxy and Varnish as plain HTTP proxies, for tests of message boundaries. Each shares a few connections to
 * the server among all clients, gives every request a unique id in `X-Forwarded-Id`, is configured to forward as much
 * as possible, and closes a client's connection after a short idle time.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RawConnection } from '../raw-http.ts';
import { EngineProcess, startEngine } from './engine-process.ts';
import { thingOf } from './found.ts';
import { findHaproxy } from './haproxy-programs.ts';
import { nginxFolders, nginxProcess } from './nginx-edge.ts';
import { findNginxEdge } from './nginx-programs.ts';
import { findVarnish } from './varnish-programs.ts';

export type HttpProxyName = 'nginx' | 'haproxy' | 'varnish';

const idleMs = 500;
/** Long, because the server shares a process with its clients. */
const serverMaxS = 10;

interface Proxy {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
  readonly configuration: string;
  /** What follows the program, given the path of the configuration. */
  readonly options: (path: string) => readonly string[];
  readonly versionOption: string;
}

/** An exclusive one, which the caller stops. `target` is where requests go, as `host:port`. */
export function startHttpProxy(name: HttpProxyName, target: string): Promise<HttpProxy> {
  return startEngine(
    name,
    (folder, port) => new HttpProxy(folder, port, proxies[name](folder, port, target)),
  );
}

export class HttpProxy extends EngineProcess {
  readonly url: string;
  readonly version: string;

  constructor(folder: string, port: number, { program, env, configuration, options, versionOption }: Proxy) {
    const url = `http://127.0.0.1:${port}`;
    const path = join(folder, 'proxy.conf');
    writeFileSync(path, configuration);
    super(folder, {
      name: 'the proxy',
      command: [program, ...options(path)],
      env,
      stopSignal: 'SIGTERM',
      isReady: async () => {
        const client = await RawConnection.open(url);
        client.abandon();
        return true;
      },
    });
    this.url = url;
    const { stdout, stderr } = Bun.spawnSync([program, versionOption], { env, stderr: 'pipe' });
    this.version = /\d+\.\d+(?:\.\d+)?/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown';
  }
}

const proxies: Readonly<Record<HttpProxyName, (folder: string, port: number, target: string) => Proxy>> = {
  nginx(folder, port, target) {
    const { server, env } = thingOf(findNginxEdge());
    return {
      program: server,
      env,
      options: path => ['-c', path, '-p', folder, '-e', join(folder, 'error.log')],
      versionOption: '-v',
      configuration: `${nginxProcess(folder)}http {
${nginxFolders(folder)}
  access_log off;
  ignore_invalid_headers off;
  underscores_in_headers on;
  merge_slashes off;
  client_header_timeout ${idleMs}ms;
  client_body_timeout ${idleMs}ms;
  keepalive_timeout ${idleMs}ms;
  lingering_timeout ${idleMs}ms;
  upstream terse { server ${target}; keepalive 4; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://terse;
      proxy_http_version 1.1;
      proxy_request_buffering off;
      proxy_next_upstream off;
      proxy_read_timeout ${serverMaxS}s;
      proxy_set_header Connection "";
      proxy_set_header X-Forwarded-Id $request_id;
    }
  }
}
`,
    };
  },

  haproxy(_folder, port, target) {
    const { program, env } = thingOf(findHaproxy());
    return {
      program,
      env,
      options: path => ['-f', path, '-db'],
      versionOption: '-v',
      configuration: `defaults
  mode http
  option accept-invalid-http-request
  retries 0
  http-reuse always
  timeout connect 5s
  timeout server ${serverMaxS}s
  timeout client ${idleMs}ms
  timeout http-request ${idleMs}ms
  timeout http-keep-alive ${idleMs}ms
listen terse
  bind 127.0.0.1:${port}
  http-request set-header X-Forwarded-Id %[uuid]
  server terse ${target}
`,
    };
  },

  varnish(folder, port, target) {
    const { server, env } = thingOf(findVarnish());
    const [host = '', targetPort = ''] = target.split(':');
    return {
      program: server,
      env,
      options: path => [
        ...['-F', '-n', join(folder, 'work'), '-a', `127.0.0.1:${port}`, '-f', path, '-s', 'malloc,16m'],
        ...['-p', `timeout_idle=${idleMs / 1_000}`, '-p', 'timeout_linger=0.05'],
        ...(process.getuid?.() === 0 ? ['-j', 'none'] : []),
      ],
      versionOption: '-V',
      configuration: `vcl 4.1;
backend terse { .host = "${host}"; .port = "${targetPort}"; .first_byte_timeout = ${serverMaxS}s; }
sub vcl_recv { return (pass); }
sub vcl_backend_fetch { set bereq.http.X-Forwarded-Id = bereq.xid; return (fetch); }
`,
    };
  },
};
