/** The paced client against servers that stall, refuse, hang up and die. */
import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Socket } from 'bun';
import { getRequest } from './load.ts';
import { failuresOf, pacedRunner } from './paced-load.ts';

const folder = mkdtempSync(join(tmpdir(), 'terse-bench-'));
const run = pacedRunner(folder);
const cores = { server: [], load: [], areShared: true };
const plan = { perSecond: 1_250, durationS: 0.4, warmUpS: 0, connections: 4, requests: [getRequest('/')] };

afterAll(() => rmSync(folder, { recursive: true }));

const found = 'HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n';
const busy = 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n';
const lastOne = 'HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

interface Visited {
  requests: number;
  connections: number;
}

/** Runs a load against a server that does as `answer` says for each request. */
async function against(
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

test('as many visitors come as were asked for, over the connections that are there', async () => {
  const { report, visited } = await against(socket => socket.write(found));
  expect(visited).toEqual({ requests: 500, connections: 4 });
  expect(report.statuses).toEqual({ 302: 500 });
  expect(failuresOf(report)).toBe(0);
});

test('a stall counts for all who came during it, also those that no connection was free for', async () => {
  let stalledUntilMs = Number.NaN;
  const { report } = await against((socket, { requests }) => {
    if (requests === 100) stalledUntilMs = performance.now() + 200;
    if (stalledUntilMs > performance.now()) {
      setTimeout(() => socket.write(found), stalledUntilMs - performance.now());
    } else socket.write(found);
  });
  expect(report.statuses).toEqual({ 302: 500 });
  // In 200 ms come 250 of the 500, though only four of them could be sent.
  expect(report.inFlightMax).toBe(4);
  expect(report.served.p99Ms).toBeGreaterThan(150);
  expect(report.served.maxMs).toBeGreaterThanOrEqual(190);
});

test('who finds no free connection opens one while there may be more', async () => {
  const never = () => {};
  const { report, visited } = await against(never, { connectionsMax: 30, patienceMs: 100 });
  expect(report.inFlightMax).toBe(30);
  expect(visited.connections).toBeGreaterThanOrEqual(30);
  expect(report.served.count).toBe(0);
  expect(report.gaveUp).toBe(500);
  expect(failuresOf(report)).toBe(500);
});

test('refusals are told apart from service', async () => {
  const { report } = await against((socket, { requests }) => socket.write(requests % 5 === 0 ? busy : found));
  expect([report.served.count, report.refused.count]).toEqual([400, 100]);
  expect(failuresOf(report)).toBe(100);
});

test('a server that says it will close is not asked again on that connection', async () => {
  const { report, visited } = await against((socket, { requests }) =>
    requests % 10 === 0 ? socket.end(lastOne) : socket.write(found),
  );
  expect([report.broken, report.retried]).toEqual([0, 0]);
  expect(report.statuses).toEqual({ 302: 500 });
  expect(visited.connections).toBeGreaterThanOrEqual(50);
});

test('a visit whose connection was closed before it came is repeated once, and told apart', async () => {
  const { report } = await against((socket, { requests }) => {
    if (requests % 50 === 7) socket.terminate();
    else socket.write(found);
  });
  expect(report.retried).toBeGreaterThan(5);
  expect(report.broken).toBe(0);
  expect(report.statuses).toEqual({ 302: 500 });
});

test('a visit that was half answered is broken, and so is one that its first connection did not take', async () => {
  const { report: half } = await against((socket, { requests }) => {
    socket.write(requests % 50 === 7 ? found.slice(0, 20) : found);
    if (requests % 50 === 7) socket.terminate();
  });
  expect(half.broken).toBe(10);
  expect(half.served.count).toBe(490);
  const { report: fresh, visited } = await against(
    (socket, { requests }) => (requests % 50 === 7 ? socket.terminate() : socket.write(found)),
    { isKeptAlive: false, connectionsMax: 50 },
  );
  expect([fresh.broken, fresh.retried, fresh.served.count]).toEqual([10, 0, 490]);
  expect(visited.connections).toBe(500);
});

test('a server that dies breaks the visits that follow, and the load goes on', async () => {
  let isDead = false;
  const { report } = await against((socket, { requests }) => {
    if (requests === 200) isDead = true;
    if (isDead) socket.terminate();
    else socket.write(found);
  });
  expect(report.served.count).toBe(199);
  expect(report.broken + report.served.count).toBe(500);
});
