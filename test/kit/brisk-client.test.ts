import { expect, test } from 'bun:test';
import { BriskClient } from './brisk-client.ts';
import { freeEnginePorts } from './engines/free-port.ts';

const visit = ['GET / HTTP/1.1'];

test('calls share connections, and each gets its own answer', async () => {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async request => new Response(await request.text(), { status: 201 }),
  });
  const client = new BriskClient(server.url.href, 2);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => client.call(['POST / HTTP/1.1'], `the ${n}th`)),
  );
  expect(answers.map(({ status, body }) => [status, body])).toEqual(
    answers.map((_, n) => [201, `the ${n}th`]),
  );
  client.close();
  await server.stop(true);
});

test('no request waits for a server that is down, and it is used again when it is back', async () => {
  const answer = (): Response => new Response('here');
  // A port that no other process gets while the server is down.
  const port = freeEnginePorts(1)[0]!;
  const server = Bun.serve({ hostname: '127.0.0.1', port, fetch: answer });
  const client = new BriskClient(server.url.href, 2);
  expect((await client.call(visit)).body).toBe('here');
  await server.stop(true);
  const calls = await Promise.allSettled(Array.from({ length: 10 }, () => client.call(visit)));
  expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 'rejected'));
  const back = Bun.serve({ hostname: '127.0.0.1', port, fetch: answer });
  expect((await client.call(visit)).body).toBe('here');
  client.close();
  await back.stop(true);
});
