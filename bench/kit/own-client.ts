/**
 * The load client for machines without `wrk`: HTTP/1.1 on bare sockets. It understands as much of an answer as
 * it takes to know its status and its end.
 */
import type { Socket } from 'bun';
import { Histogram } from './histogram.ts';
import type { ClientPlan, LoadResult } from './load.ts';

interface Connection {
  /** What of the request the socket has not taken yet. */
  unsent: Buffer;
  received: Buffer;
  sentAtNs: number;
}

type LoadSocket = Socket<Connection>;

const nothing = Buffer.alloc(0);
const headEnd = '\r\n\r\n';

export async function runOwnLoad(plan: ClientPlan): Promise<LoadResult> {
  const requests = (await Bun.file(plan.requestsFile).text()).split('\0').map(text => Buffer.from(text));
  const { hostname, port } = new URL(plan.url);
  const histogram = new Histogram();
  let failures = 0;
  let turn = 0;
  let stopped = false;

  const sendNext = (socket: LoadSocket): void => {
    const request = requests[turn % requests.length]!;
    turn += 1;
    socket.data.sentAtNs = Bun.nanoseconds();
    socket.data.unsent = request;
    flush(socket);
  };
  const sockets = await Promise.all(
    Array.from({ length: plan.connections }, () =>
      Bun.connect<Connection>({
        hostname,
        port: Number(port),
        data: { unsent: nothing, received: nothing, sentAtNs: 0 },
        socket: {
          drain: flush,
          data(socket, chunk) {
            const { data } = socket;
            data.received = data.received.length === 0 ? chunk : Buffer.concat([data.received, chunk]);
            const answer = readAnswer(data.received);
            if (answer === undefined || stopped) return;
            data.received = nothing;
            histogram.record((Bun.nanoseconds() - data.sentAtNs) / 1_000);
            // Also true of a status that is no number, because what came was no answer.
            if (!(answer.status < 400)) failures += 1;
            sendNext(socket);
          },
          close() {
            if (!stopped) failures += 1;
          },
        },
      }),
    ),
  );
  const startedNs = Bun.nanoseconds();
  for (const socket of sockets) sendNext(socket);
  await Bun.sleep(plan.durationS * 1_000);
  const durationS = (Bun.nanoseconds() - startedNs) / 1e9;
  stopped = true;
  for (const socket of sockets) socket.terminate();
  const requestCount = histogram.count;
  if (requestCount > 0) histogram.addOmitted((durationS * 1e6 * plan.connections) / requestCount);
  return {
    requests: requestCount,
    perSecond: requestCount / durationS,
    p50Ms: histogram.quantileUs(0.5) / 1_000,
    p99Ms: histogram.quantileUs(0.99) / 1_000,
    p999Ms: histogram.quantileUs(0.999) / 1_000,
    maxMs: histogram.maxUs / 1_000,
    failures,
  };
}

function flush(socket: LoadSocket): void {
  const { unsent } = socket.data;
  if (unsent.length > 0) socket.data.unsent = unsent.subarray(socket.write(unsent));
}

/** Undefined until the answer is complete. */
function readAnswer(received: Buffer): { readonly status: number } | undefined {
  const headLength = received.indexOf(headEnd);
  if (headLength === -1) return undefined;
  const head = received.toString('latin1', 0, headLength);
  if (/\r\ntransfer-encoding:/i.test(head)) throw new Error('the load client cannot read a chunked answer');
  const bodyLength = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  if (received.length < headLength + headEnd.length + bodyLength) return undefined;
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]) };
}
