/**
 * One address opens as many connections as there may be and misuses each. Visitors from another address must be served,
 * health checks must get through also from the attacking address, and a key holder must be able to create links.
 */
import { afterEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { callerOf } from '../kit/client.ts';
import { metricOf } from '../kit/follow.ts';
import { RawConnection } from '../kit/raw-http.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { adminKey, startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';

const connectionsMax = scaled(400, 10_000);
const attackers = scaled(400, 10_000);
const visits = scaled(60, 600);
const attackSeconds = scaled(60, 300);
const attackAddress = '127.0.0.2';
const visitorAddress = '127.0.0.3';

let terse: TerseProcess | undefined;
const processes: Bun.Subprocess[] = [];

afterEach(async () => {
  for (const child of processes.splice(0)) child.kill('SIGKILL');
  await terse?.stop();
  terse = undefined;
});

async function start(): Promise<TerseProcess> {
  terse = await startTerseProcess({
    env: {
      TERSE_CONNECTIONS: String(connectionsMax),
      TERSE_ADDRESS_SHARE_PERCENT: undefined,
      TERSE_LIMITS: undefined,
      TERSE_PROBE_LIMIT: undefined,
    },
  });
  const call = callerOf(terse.url);
  const longUrl = 'https://example.com/';
  for (const body of [
    { longUrl, customAlias: 'target' },
    { longUrl, customAlias: 'shown', publicStats: true },
  ])
    expect(await call('POST', '/api/v1/links', { body })).toMatchObject({ status: 201 });
  return terse;
}

async function attack(kind: string, count: number, url: string): Promise<void> {
  const child = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, 'attacker.ts'),
      kind,
      String(count),
      attackAddress,
      url,
      String(attackSeconds),
    ],
    { stdout: 'pipe', stderr: 'inherit' },
  );
  processes.push(child);
  // The attacker prints this when every connection has been opened.
  const { value } = await child.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toBe('ready\n');
}

/** Checks that the attack is still running and has reached a limit. */
async function expectAttacked(url: string): Promise<void> {
  expect(processes.every(child => child.exitCode === null)).toBe(true);
  const met = await Promise.all(
    ['connections_evicted', 'connections_rejected', 'connections_shed', 'bodies_timed_out'].map(name =>
      metricOf(url, `terse_${name}_total`),
    ),
  );
  expect(met.reduce((sum, count) => sum + count)).toBeGreaterThan(0);
}

interface Served {
  readonly tookMs: number[];
  readonly statuses: Map<number | undefined, number>;
}

/** One connection after another, each with one request. */
async function ask(
  url: string,
  from: string,
  count: number,
  requestOf: (index: number) => string,
): Promise<Served> {
  const served: Served = { tookMs: [], statuses: new Map() };
  for (let index = 0; index < count; index += 1) {
    const startedMs = performance.now();
    const status = await RawConnection.open(url, { from: from }).then(
      async connection => {
        connection.write(requestOf(index));
        const [answer] = await connection.answersUntilClosed();
        return answer?.status;
      },
      () => undefined,
    );
    served.tookMs.push(performance.now() - startedMs);
    served.statuses.set(status, (served.statuses.get(status) ?? 0) + 1);
  }
  return served;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
const post = (body: unknown): string => {
  const text = JSON.stringify(body);
  const head = `POST /api/v1/links HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Api-Key: ${adminKey}\r\n`;
  return `${head}Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
};

function quantile({ tookMs }: Served, part: number): string {
  const sorted = tookMs.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!.toFixed(1);
}

const shown = (served: Served): string => {
  const statuses = [...served.statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
  return `${statuses}, p50 ${quantile(served, 0.5)} ms, p99 ${quantile(served, 0.99)} ms`;
};

test.each(['empty lines', 'a request every 0.8 s', 'half heads', 'slow bodies', 'slow reads'])(
  'one address with all connections there may be, that sends %s, keeps nobody out',
  async kind => {
    const { url } = await start();
    await attack(kind, attackers, url);
    const visitors = await ask(url, visitorAddress, visits, () => get('/target'));
    const checks = await ask(url, attackAddress, visits, () => get('/health/live'));
    const creates = await ask(url, visitorAddress, visits, () => post({ longUrl: 'https://example.com/' }));
    const held = await metricOf(url, 'terse_connections');
    await expectAttacked(url);
    report(`${attackers} connections, ${kind}: ${held} held at the end`);
    report(`  visitors ${shown(visitors)}`);
    report(`  health checks from the attacking address ${shown(checks)}`);
    report(`  creates ${shown(creates)}`);
    expect(visitors.statuses.get(302) ?? 0).toBeGreaterThanOrEqual(visits * 0.99);
    expect(checks.statuses.get(200)).toBe(visits);
    expect(creates.statuses.get(201)).toBe(visits);
  },
  heavyTestMaxMs,
);

test(
  'slow posters do not keep a key holder from creating links',
  async () => {
    const { url } = await start();
    await attack('slow bodies', scaled(100, 700), url);
    const creates = await ask(url, attackAddress, visits, () => post({ longUrl: 'https://example.com/' }));
    report(`slow posters at the same address: creates ${shown(creates)}`);
    expect(await metricOf(url, 'terse_connections')).toBeGreaterThanOrEqual(scaled(50, 600));
    expect(creates.statuses.get(201)).toBe(visits);
  },
  heavyTestMaxMs,
);

test(
  'public statistics without end keep nobody from a cold link or from the API',
  async () => {
    const { url } = await start();
    const call = callerOf(url);
    const codes: string[] = [];
    for (let made = 0; made < visits; made += 1) {
      const { body } = await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' } });
      codes.push(body.shortCode);
    }
    await attack('public statistics', scaled(50, 400), url);
    const cold = await ask(url, attackAddress, visits, index => get(`/${codes[index]}`));
    const reads = await ask(url, visitorAddress, visits, index =>
      get(`/api/v1/links/${codes[index]}`).replace('\r\n\r\n', `\r\nX-Api-Key: ${adminKey}\r\n\r\n`),
    );
    const scraped = await (await fetch(`${url}/metrics`)).text();
    expect(scraped).toMatch(/^terse_rate_limited_total\{.*kind="read".*\} [1-9]/m);
    report(`public statistics: cold redirects ${shown(cold)}; API reads ${shown(reads)}`);
    expect(cold.statuses.get(302)).toBe(visits);
    expect(reads.statuses.get(200)).toBe(visits);
  },
  heavyTestMaxMs,
);
