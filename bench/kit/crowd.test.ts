import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Socket } from 'bun';
import { withCrowd } from './crowd.ts';

const folder = mkdtempSync(join(tmpdir(), 'terse-bench-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A server that answers each connection with so many bytes, and counts what it got rid of. */
function listen(answerBytes: number) {
  const sockets = new Set<Socket<{ unsent: number }>>();
  const counts = { connections: 0, written: 0 };
  const flush = (socket: Socket<{ unsent: number }>): void => {
    const written = Math.max(0, socket.write(Buffer.alloc(socket.data.unsent, 'x')));
    counts.written += written;
    socket.data.unsent -= written;
  };
  const listener = Bun.listen<{ unsent: number }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        counts.connections += 1;
        sockets.add(socket);
        socket.data = { unsent: answerBytes };
      },
      data: flush,
      drain: flush,
      close: socket => void sockets.delete(socket),
    },
  });
  return { url: `http://127.0.0.1:${listener.port}`, counts, sockets, stop: () => listener.stop(true) };
}

const plan = { connections: 300, request: 'GET / HTTP/1.1\r\n\r\n' };
const options = { cores: [], folder };

test('a crowd is let in, stays while the work lasts, and says how many the server put out', async () => {
  const server = listen(10);
  const { result, ending } = await withCrowd(
    { ...options, plan: { ...plan, url: server.url, isReading: true } },
    async opening => {
      expect(opening).toEqual({ opened: 300, refused: 0 });
      expect(server.sockets.size).toBe(300);
      for (const socket of [...server.sockets].slice(0, 100)) socket.end();
      // The word that it is over has to get there.
      await Bun.sleep(200);
      return 'done';
    },
  );
  expect(result).toBe('done');
  expect(ending).toEqual({ stayed: 200 });
  server.stop();
});

test('who does not read leaves the server with most of the answer', async () => {
  const answerBytes = 40_000_000;
  const server = listen(answerBytes);
  const crowd = { ...plan, connections: 3, url: server.url, isReading: false };
  await withCrowd({ ...options, plan: crowd }, async opening => {
    expect(opening.opened).toBe(3);
    // Until nothing more goes out.
    for (let before = -1; before !== server.counts.written || before === 0; await Bun.sleep(100)) {
      before = server.counts.written;
    }
    expect(server.counts.written).toBeLessThan((3 * answerBytes) / 2);
  });
  server.stop();
});

test('a crowd that nobody lets in says so', async () => {
  const { result } = await withCrowd(
    { ...options, plan: { ...plan, url: 'http://127.0.0.1:1', isReading: true } },
    async opening => opening,
  );
  expect(result).toEqual({ opened: 0, refused: 300 });
});
