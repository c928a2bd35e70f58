/**
 * One redirect by alternative servers: nginx, HAProxy and Caddy, each with its access log, and minimal servers on Node
 * and Bun without one. Unavailable ones are left out, by name.
 */
import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { environmentWithLibraries, unpackPackages } from '../../test/kit/engines/debian-packages.ts';
import { findHaproxy } from '../../test/kit/engines/haproxy-programs.ts';
import { startBareServer } from '../kit/bare-server.ts';
import { type Contender, contest } from '../kit/contest.ts';
import { boundTo } from '../kit/cores.ts';
import { longUrlAt } from '../kit/filled-store.ts';
import { freePort } from '../kit/free-port.ts';
import { untilItAnswers } from '../kit/nginx.ts';
import type { Scenario } from '../kit/scenario.ts';
import { createLinks, visitOf } from '../kit/visits.ts';

const visitors = 64;
const target = longUrlAt(0);

interface Program {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Undefined when the program is not available. Its output is its access log. */
type Peer = (port: number, folder: string, cacheFolder: string) => Program | undefined;

const peers: Readonly<Record<string, Peer>> = {
  HAProxy(port, folder) {
    const found = findHaproxy();
    if ('reason' in found) return undefined;
    const path = join(folder, 'haproxy.cfg');
    writeFileSync(
      path,
      `global
  log stdout format raw local0
  nbthread 1
defaults
  mode http
  log global
  option httplog
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend redirects
  bind 127.0.0.1:${port}
  http-request redirect location ${target} code 302
`,
    );
    return { command: [found.thing.program, '-db', '-f', path], env: found.thing.env };
  },
  Caddy(port, folder, cacheFolder) {
    const unpacked = join(cacheFolder, 'caddy');
    const installed = Bun.which('caddy');
    if (installed === null && !unpackPackages(unpacked, ['caddy'], 'usr/bin/caddy')) return undefined;
    const path = join(folder, 'Caddyfile');
    writeFileSync(
      path,
      `{
  admin off
  auto_https off
}
http://127.0.0.1:${port} {
  log {
    output stdout
  }
  redir ${target} 302
}
`,
    );
    const program = installed ?? join(unpacked, 'usr/bin/caddy');
    const env = { ...environmentWithLibraries(unpacked), HOME: folder, GOMAXPROCS: '1' };
    return { command: [program, 'run', '--adapter', 'caddyfile', '--config', path], env };
  },
  'bare Node http'(port) {
    const node = Bun.which('node');
    if (node === null) return undefined;
    const answer = `answer.writeHead(302, { Location: ${JSON.stringify(target)} }).end()`;
    const script = `require('http').createServer((_, answer) => ${answer}).listen(${port}, '127.0.0.1')`;
    return { command: [node, '-e', script] };
  },
};

export const peersScenario: Scenario = {
  name: 'peers',
  summary: 'one link by nginx, HAProxy, Caddy, Node and Bun',
  isOnRequest: true,
  run: bench =>
    bench.inFolder(async folder => {
      const { server: cores } = bench.coresFor(1);
      const stops: (() => unknown)[] = [];
      const contenders: Record<string, Contender> = {};
      const against = 'nginx';
      const anyCode = 'a';
      try {
        for (const [name, find] of Object.entries(peers)) {
          const own = join(folder, name);
          mkdirSync(own);
          const port = freePort();
          const found = find(port, own, bench.cacheFolder);
          if (found === undefined) {
            bench.note(`${name} is left out: it cannot be had here`);
            continue;
          }
          const child = Bun.spawn(boundTo(cores, [...found.command]), {
            env: found.env ?? process.env,
            stdin: 'ignore',
            stdout: openSync(join(own, 'access.log'), 'w'),
            stderr: openSync(join(own, 'error.log'), 'w'),
          });
          stops.push(() => child.kill());
          const url = `http://127.0.0.1:${port}`;
          await untilItAnswers(url, () => child.exitCode !== null);
          contenders[name] = { server: { url, pid: child.pid }, requests: [visitOf(anyCode)], against };
        }
        const bare = await startBareServer(cores);
        stops.push(() => bare.stop());
        contenders['bare Bun.serve'] = { server: bare, requests: [visitOf(anyCode)], against };
        return await bench.withTerse({ dataFolder: join(folder, 'terse') }, async terse => {
          const requests = [visitOf((await createLinks(terse.url, 1)).codeAt(0))];
          const nginxOptions = { folder: join(folder, 'nginx'), targets: [[anyCode, target]] as const };
          return bench.withNginx(nginxOptions, async nginx => {
            const table = await contest(bench, {
              title: `One redirect by its peers, one core, ${visitors} visitors`,
              connections: visitors,
              contenders: {
                ...(nginx !== undefined && {
                  [against]: { server: nginx, requests: [visitOf(anyCode)] },
                }),
                ...contenders,
                'Terse, every click counted': { server: terse, requests, against },
              },
              notes: ['nginx, HAProxy and Caddy write an access log; the bare servers write nothing.'],
            });
            return { tables: [table] };
          });
        });
      } finally {
        for (const stop of stops) await stop();
      }
    }),
};
