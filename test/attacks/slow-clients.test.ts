/**
 * Many connections, most of them useless. A client that opens them and sends nothing, or sends requests and does not
 * read, must not keep others from their redirects, use up the process's file descriptors, or make it buffer much.
 */
import { afterEach, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { callerOf } from '../kit/client.ts';
import { follow, metricOf } from '../kit/follow.ts';
import { RawConnection, sendRaw } from '../kit/raw-http.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs } from '../kit/scale.ts';
import { adminKey, startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

const halfHead = 'GET /target HTTP/1.1\r\nHost: localhost\r\nX-A: ';
const visit = 'GET /target HTTP/1.1\r\nHost: localhost\r\n\r\n';
const wholeVisit = 'GET /target HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
const halfOpenCount = 500;
const idleCount = 2_000;
const openedAtOnce = 100;
const readerCount = 30;
const grownMaxBytes = 150 * 2 ** 20;
const clients: RawConnection[] = [];
let terse: TerseProcess | undefined;

afterEach(async () => {
  for (const client of clients.splice(0)) client.abandon();
  await terse?.stop();
  terse = undefined;
});

async function start(options: Parameters<typeof startTerseProcess>[0]): Promise<TerseProcess> {
  terse = await startTerseProcess(options);
  const body = { longUrl: 'https://example.com/', customAlias: 'target' };
  expect(await callerOf(terse.url)('POST', '/api/v1/links', { body })).toMatchObject({ status: 201 });
  return terse;
}

async function open(url: string, text: string): Promise<RawConnection> {
  const client = await RawConnection.open(url);
  clients.push(client);
  client.write(text);
  return client;
}

/** Opens half a request after another, with a visitor between each few, and says what the visitors got. */
async function visitAmongHalfHeads(url: string): Promise<Set<number | undefined>> {
  const statuses = new Set<number | undefined>();
  for (let opened = 1; opened <= halfOpenCount; opened += 1) {
    await open(url, halfHead);
    if (opened % 10 !== 0) continue;
    statuses.add((await sendRaw(url, wholeVisit))[0]?.status);
    statuses.add((await follow(url, 'target')).status);
  }
  return statuses;
}

test('with a cap on connections, half-sent requests make room for whole ones', async () => {
  const { url } = await start({ env: { TERSE_CONNECTIONS: '100' } });
  expect(await visitAmongHalfHeads(url)).toEqual(new Set([302]));
  expect(await metricOf(url, 'terse_connections')).toBeLessThanOrEqual(100);
  expect(await metricOf(url, 'terse_connections_evicted_total')).toBeGreaterThanOrEqual(400);
  expect(await metricOf(url, 'terse_connections_rejected_total')).toBe(0);
});

test('a process with few files to open lets in no more than it can serve', async () => {
  const limited = (command: readonly string[]) => ['sh', '-c', 'ulimit -n 300; exec "$@"', 'sh', ...command];
  const { url } = await start({ wrap: limited });
  expect(await visitAmongHalfHeads(url)).toEqual(new Set([302]));
  expect(await metricOf(url, 'terse_connections')).toBeLessThanOrEqual(150);
  expect(await metricOf(url, 'terse_connections_evicted_total')).toBeGreaterThanOrEqual(350);
  // Work that needs files still gets them.
  const created = await callerOf(url)('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' } });
  expect(created.status).toBe(201);
  expect((await follow(url, created.body.shortCode)).status).toBe(302);
});

test(
  'clients that wait, and clients that do not read, are not held much for',
  async () => {
    const { url, pid } = await start({ env: { TERSE_CONNECTIONS: '5000' } });
    const visitCount = 40_000;
    await visitOften(url, visitCount);
    await untilCounted(url, visitCount);
    const exportOf = `GET /api/v1/links/target/clicks?format=ndjson HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: ${adminKey}\r\n\r\n`;
    const whole = await (
      await fetch(`${url}/api/v1/links/target/clicks`, { headers: { 'X-Api-Key': adminKey } })
    ).bytes();
    const before = residentBytes(pid);

    // Visit first: idle connections may wait longer after a visit, so that all of them are open together.
    const idle = async (): Promise<void> => {
      const client = await open(url, visit);
      await client.receives('302 Found');
    };
    for (let opened = 0; opened < idleCount; opened += openedAtOnce) {
      await Promise.all(Array.from({ length: openedAtOnce }, idle));
    }
    const readers = Array.from({ length: readerCount }, async () => {
      const reader = await open(url, exportOf);
      await reader.receives('200 OK');
      reader.pause();
    });
    await Promise.all(readers);
    expect(await metricOf(url, 'terse_connections')).toBeGreaterThanOrEqual(idleCount + readerCount);
    // Wait until everything that can be sent is sent and freed; clients that do not read are cut off after ten seconds.
    await Bun.sleep(4_000);
    let grownBytes = residentBytes(pid) - before;
    for (let waits = 0; waits < 8 && grownBytes > grownMaxBytes; waits += 1) {
      await Bun.sleep(500);
      grownBytes = residentBytes(pid) - before;
    }
    expect((await follow(url, 'target')).status).toBe(302);
    report(
      `${idleCount} idle connections and ${readerCount} that do not read ${inMebibytes(whole.length)} MiB each: ` +
        `${inMebibytes(grownBytes)} MiB more resident`,
    );
    expect(grownBytes).toBeLessThan(grownMaxBytes);
  },
  heavyTestMaxMs,
);

const inMebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);

/** Many visits on one connection, without waiting for each. */
async function visitOften(url: string, count: number): Promise<void> {
  const atOnce = 1_000;
  const agent = `User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) ${'Gecko '.repeat(30)}\r\n`;
  const longVisit = `GET /target HTTP/1.1\r\nHost: localhost\r\n${agent}\r\n`;
  for (let sent = 0; sent < count; sent += atOnce) {
    const client = await open(url, longVisit.repeat(atOnce));
    expect((await client.answers(atOnce)).every(({ status }) => status === 302)).toBe(true);
    client.abandon();
  }
}

async function untilCounted(url: string, count: number): Promise<void> {
  const call = callerOf(url);
  await until('all clicks', async () => {
    const { body } = await call('GET', '/api/v1/links/target/stats');
    return body.totalClicks + body.botClicks >= count;
  });
}

function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}
