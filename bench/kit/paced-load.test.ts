/** Both paced clients against servers that stall, reject, disconnect and die: their reports must be the same. */
import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Socket } from 'bun';
import type { Moment } from './client-plan.ts';
import { getRequest, postRequest } from './load.ts';
import { failuresOf, type PacedRunner, pacedRunner } from './paced-load.ts';

const folder = mkdtempSync(join(tmpdir(), 'terse-bench-'));
const cores = { server: [], load: [], areShared: true };
const plan = { perSecond: 1_250, durationS: 0.4, warmUpS: 0, connections: 4, requests: [getRequest('/')] };

afterAll(() => rmSync(folder, { recursive: true }));

const found = 'HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n';
const busy = 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n';
const busyFor = 'HTTP/1.1 503 Busy\r\nretry-after: 1\r\nContent-Length: 0\r\n\r\n';
const lastOne = 'HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

interface Visited {
  requests: number;
  connections: number;
}

/** Runs a load against a server that does as `answer` says for each request. */
async function against(
  run: PacedRunner,
  answer: (socket: Socket<undefined>, visited: Visited) => unknown,
  changes: object = {},
) {
  const visited: Visited = { requests: 0, connections: 0 };
  const listener = Bun.listen<undefined>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: () => {
        visited.connections += 1;
      },
      data(socket) {
        visited.requests += 1;
        answer(socket, visited);
      },
    },
  });
  try {
    return {
      visited,
      report: await run({ ...plan, url: `http://127.0.0.1:${listener.port}`, ...changes }, cores),
    };
  } finally {
    listener.stop(true);
  }
}

describe.skipIf(process.platform !== 'linux')('the load client', () => {
  const run = pacedRunner(folder);
  const load = (answer: Parameters<typeof against>[1], changes: object = {}) => against(run, answer, changes);

  test('as many visitors come as were asked for, over the connections that are there', async () => {
    const { report, visited } = await load(socket => socket.write(found));
    expect(visited).toEqual({ requests: 500, connections: 4 });
    expect(report.statuses).toEqual({ 302: 500 });
    expect(failuresOf(report)).toBe(0);
  });

  test('a stall counts for all visitors who came during it, also without a free connection', async () => {
    let stalledUntilMs = Number.NaN;
    const { report } = await load((socket, { requests }) => {
      if (requests === 100) stalledUntilMs = performance.now() + 200;
      if (stalledUntilMs > performance.now()) {
        setTimeout(() => socket.write(found), stalledUntilMs - performance.now());
      } else socket.write(found);
    });
    expect(report.statuses).toEqual({ 302: 500 });
    // 250 of the 500 come within 200 ms, although only four of them could be sent.
    expect(report.inFlightMax).toBe(4);
    expect(report.served.p99Ms).toBeGreaterThan(150);
    expect(report.served.maxMs).toBeGreaterThanOrEqual(190);
  });

  test('a visitor without a free connection opens one, up to the limit', async () => {
    const never = () => {};
    const { report, visited } = await load(never, { connectionsMax: 30, timeoutMs: 100 });
    expect(report.inFlightMax).toBe(30);
    expect(visited.connections).toBeGreaterThanOrEqual(30);
    expect(report.served.count).toBe(0);
    expect(report.gaveUp).toBe(500);
    expect(failuresOf(report)).toBe(500);
  });

  test('visitors without a connection may leave before those who wait for an answer', async () => {
    const never = () => {};
    const { report } = await load(never, { timeoutMs: 300, unsentMaxMs: 20 });
    expect(report.gaveUp).toBe(500);
    // Connections are abandoned with their visits, so only about eight are sent in that time.
    expect(report.sent).toBeWithin(4, 100);
  });

  test('rejections are counted separately from served visits, and so are those with Retry-After', async () => {
    const { report } = await load((socket, { requests }) => {
      const isRefused = requests % 5 === 0;
      socket.write(isRefused ? (requests % 10 === 0 ? busyFor : busy) : found);
    });
    expect([report.served.count, report.refused.count, report.withRetryAfter]).toEqual([400, 100, 50]);
    expect(failuresOf(report)).toBe(100);
  });

  test('a server that says it will close is not asked again on that connection', async () => {
    const ending = new Set<Socket<undefined>>();
    let askedAgain = 0;
    const { report, visited } = await load((socket, { requests }) => {
      if (ending.has(socket)) askedAgain += 1;
      if (requests % 10 === 0) ending.add(socket);
      // It leaves closing to the client, so only the header announces it.
      socket.write(requests % 10 === 0 ? lastOne : found);
    });
    expect(askedAgain).toBe(0);
    expect([report.broken, report.retried]).toEqual([0, 0]);
    expect(report.statuses).toEqual({ 302: 500 });
    expect(visited.connections).toBeGreaterThanOrEqual(50);
  });

  test('a visit whose connection was closed before it came is retried once, and counted separately', async () => {
    const used = new Set<Socket<undefined>>();
    const { report } = await load((socket, { requests }) => {
      if (requests % 50 === 7 && used.has(socket)) socket.terminate();
      else socket.write(found);
      used.add(socket);
    });
    expect(report.retried).toBeGreaterThan(5);
    expect(report.broken).toBe(0);
    expect(report.statuses).toEqual({ 302: 500 });
  });

  test('a visit that was half answered is broken, and so is one that its first connection did not take', async () => {
    const { report: half } = await load((socket, { requests }) => {
      socket.write(requests % 50 === 7 ? found.slice(0, 20) : found);
      if (requests % 50 === 7) socket.terminate();
    });
    expect(half.broken).toBe(10);
    expect(half.served.count).toBe(490);
    const { report: fresh, visited } = await load(
      (socket, { requests }) => (requests % 50 === 7 ? socket.terminate() : socket.write(found)),
      { isKeptAlive: false, connectionsMax: 50 },
    );
    expect([fresh.broken, fresh.retried, fresh.served.count]).toEqual([10, 0, 490]);
    expect(visited.connections).toBe(500);
  });

  test('a server that dies breaks the visits that follow, and the load continues', async () => {
    let isDead = false;
    const { report } = await load((socket, { requests }) => {
      if (requests === 200) isDead = true;
      if (isDead) socket.terminate();
      else socket.write(found);
    });
    expect(report.served.count).toBe(199);
    expect(report.broken + report.served.count).toBe(500);
  });

  test('an answer may come in pieces, with a body, and larger than any buffer', async () => {
    const body = 'x'.repeat(100_000);
    const { report } = await load(
      async socket => {
        socket.write('HTTP/1.1 200 OK\r\nX-Padding: y\r\ncontent-le');
        await Bun.sleep(1);
        socket.write(`ngth: ${body.length}\r\n\r\n${body.slice(0, 10)}`);
        await Bun.sleep(1);
        for (let rest = Buffer.from(body.slice(10)); rest.length > 0; await Bun.sleep(1)) {
          rest = rest.subarray(socket.write(rest));
        }
      },
      { perSecond: 100, durationS: 0.2 },
    );
    expect(report.statuses).toEqual({ 200: 20 });
    expect(failuresOf(report)).toBe(0);
  });

  test('an invalid answer has no status, and a chunked one ends the load', async () => {
    const { report } = await load(socket => socket.write('SSH-2.0-server\r\n\r\n'));
    expect(report.statuses).toEqual({ NaN: 500 });
    const chunked = load(socket => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'));
    expect(await chunked.catch(String)).toContain('chunked');
  });

  test('requests are sent whole and in turn', async () => {
    const seen: string[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        seen.push(`${new URL(request.url).pathname} ${(await request.text()).length}`);
        return new Response(null, { status: 204 });
      },
    });
    const requests = [
      getRequest('/first'),
      postRequest('/second', 'z'.repeat(4_000_000)),
      getRequest('/third'),
    ];
    const url = `http://127.0.0.1:${server.port}`;
    const { sent } = await run(
      { ...plan, url, requests, perSecond: 60, durationS: 0.1, connections: 1 },
      cores,
    );
    await server.stop(true);
    expect(sent).toBe(6);
    expect(seen).toEqual([
      '/first 0',
      '/second 4000002',
      '/third 0',
      '/first 0',
      '/second 4000002',
      '/third 0',
    ]);
  });

  test('a request that changes something is never repeated', async () => {
    const { report } = await load(
      (socket, { requests }) => (requests % 50 === 7 ? socket.terminate() : socket.write(found)),
      { requests: [postRequest('/', {})], connectionsMax: 8 },
    );
    expect([report.broken, report.retried, report.served.count]).toEqual([10, 0, 490]);
  });

  test('intervals are reported as they end, and none includes the warm-up', async () => {
    const seen: Moment[] = [];
    const onMoment = (moment: Moment): unknown => seen.push(moment);
    const { report, visited } = await load(socket => socket.write(found), {
      warmUpS: 0.2,
      momentS: 0.1,
      onMoment,
    });
    expect(visited.requests).toBe(750);
    expect(seen).toEqual([...report.moments]);
    expect(seen.map(({ atS }) => Math.round(atS * 10))).toEqual([1, 2, 3, 4]);
    expect(report.sent).toBeLessThan(750);
    expect(report.served.count).toBeLessThan(750);
    // The last answers may come when the time is up.
    const served = seen.reduce((sum, moment) => sum + moment.served, 0);
    expect(served).toBeWithin(1, report.served.count + 1);
  });

  test('a load can be ended before its time', async () => {
    const signal = AbortSignal.timeout(100);
    const ended = load(socket => socket.write(found), { durationS: 60, signal });
    expect(await ended.catch(String)).toContain('the load client failed');
  });
});
