/**
 * Visitors without keep-alive: each opens a connection, sends one request and closes it. Plain, with a full TLS
 * handshake, and with a resumed TLS session; compared with nginx with the same certificate, protocols and ciphers, and
 * with a socket of the runtime that sends a constant answer.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ciphers } from '../../src/http/wire/listen-socket.ts';
import { selfSigned } from '../../test/kit/self-signed.ts';
import { adminKey, type TerseProcess } from '../../test/kit/terse-process.ts';
import { type BareServer, startBareServer } from '../kit/bare-server.ts';
import { type Contender, contest } from '../kit/contest.ts';
import type { Nginx } from '../kit/nginx.ts';
import type { Bench, Scenario } from '../kit/scenario.ts';
import type { Table } from '../kit/table.ts';
import { tlsRunner } from '../kit/tls-load.ts';
import { visitOf } from '../kit/visits.ts';

const visitors = 64;
/** Each is a thread of the client: more of them only wait for one another. */
const tlsVisitors = 16;
const code = 'a-viral-link';
const target = 'https://www.example.com/articles/a-title-in-words';

interface Servers {
  readonly nginx: Nginx | undefined;
  readonly terse: TerseProcess;
  readonly bare: BareServer;
}

export const connections: Scenario = {
  name: 'connections',
  summary: 'a connection for every request: plain, full TLS handshakes, resumed ones',
  run: bench =>
    bench.inFolder(async folder => {
      const plain = await withServers(bench, join(folder, 'plain'), undefined, servers =>
        table(bench, 'plain', servers),
      );
      const tls = { certificate: join(folder, 'certificate.pem'), key: join(folder, 'key.pem') };
      const made = selfSigned();
      writeFileSync(tls.certificate, made.certificate);
      writeFileSync(tls.key, made.key);
      const encrypted = await withServers(bench, join(folder, 'tls'), tls, async servers => [
        await table(bench, 'full TLS handshake', servers, tlsRunner(bench.cacheFolder, false), tlsVisitors),
        await table(bench, 'resumed TLS session', servers, tlsRunner(bench.cacheFolder, true), tlsVisitors),
      ]);
      return { tables: [plain, ...encrypted] };
    }),
};

async function withServers<Result>(
  bench: Bench,
  folder: string,
  tls: { readonly certificate: string; readonly key: string } | undefined,
  work: (servers: Servers) => Promise<Result>,
): Promise<Result> {
  const env = tls && { TERSE_TLS_CERTIFICATE: tls.certificate, TERSE_TLS_KEY: tls.key };
  return bench.withTerse({ dataFolder: `${folder}-terse`, ...(env && { env }) }, async terse => {
    await createLink(terse.url);
    const nginxOptions = {
      folder: `${folder}-nginx`,
      targets: [[code, target]] as const,
      ...(tls && { tls: { ...tls, ciphers } }),
    };
    return bench.withNginx(nginxOptions, async nginx => {
      const bare = await startBareServer(bench.coresFor(1).server, 'listen', tls);
      try {
        return await work({ nginx, terse, bare });
      } finally {
        await bare.stop();
      }
    });
  });
}

async function createLink(url: string): Promise<void> {
  const { status } = await fetch(`${url}/api/v1/links`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${adminKey}` },
    body: JSON.stringify({ longUrl: target, alias: code }),
    tls: { rejectUnauthorized: false },
  });
  if (status !== 201) throw new Error(`the link was answered with ${status}`);
}

function table(
  bench: Bench,
  kind: string,
  { nginx, terse, bare }: Servers,
  load = bench.load,
  count = visitors,
): Promise<Table> {
  const requests = [visitOf(code, { Connection: 'close' })];
  const against = 'nginx';
  const contenders: Record<string, Contender> = {
    ...(nginx !== undefined && { [against]: { server: nginx, requests, load } }),
    'bare Bun.listen': { server: bare, requests, load, against },
    Terse: { server: terse, requests, load, against },
  };
  return contest(bench, {
    title: `A connection for every request, ${kind}, one core, ${count} visitors`,
    connections: count,
    contenders,
    notes: ['Every visitor sends the headers of the same browser.'],
  });
}
