/**
 * Many visitors on keep-alive connections, each following its next link as soon as the last was answered. What
 * was answered and what never was is kept apart for every kind of visit, because a server that is killed may or
 * may not have noted the visits it did not answer.
 */
import type { Socket } from 'bun';

/** One kind of visit: the same request every time. */
export interface VisitKind {
  readonly code: string;
  readonly isHuman: boolean;
  readonly request: Buffer;
}

export interface VisitLoadOptions {
  readonly url: string;
  readonly visits: VisitTally;
  readonly connections: number;
  /** How many are sent, unless the server goes away before. */
  readonly count: number;
}

interface Connection {
  /** What of the request the socket has not taken yet. */
  unsent: Buffer;
  received: string;
  /** Place of the kind that waits for its answer; undefined when none does. */
  waitsFor: number | undefined;
}

/** What became of the visits of each kind, over any number of loads. */
export class VisitTally {
  readonly kinds: readonly VisitKind[];
  readonly answered: Float64Array;
  /** Sent, at least in part, on a connection that broke before the answer was there. */
  readonly unanswered: Float64Array;
  /** Answers that were no redirect. */
  readonly faults: string[] = [];
  /** When each visit was answered, in milliseconds; in order. */
  readonly answeredAtMs: number[] = [];
  readonly #stride: number;
  #turn = 0;

  constructor(kinds: readonly VisitKind[]) {
    this.kinds = kinds;
    this.#stride = strideOver(kinds.length);
    this.answered = new Float64Array(kinds.length);
    this.unanswered = new Float64Array(kinds.length);
  }

  /** All kinds come equally often; neighbours in the list, which are alike, come far apart. */
  next(): number {
    this.#turn = (this.#turn + this.#stride) % this.kinds.length;
    return this.#turn;
  }

  answeredCount(which: (kind: VisitKind) => boolean = () => true): number {
    return sumOf(this.answered, this.kinds, which);
  }

  unansweredCount(which: (kind: VisitKind) => boolean = () => true): number {
    return sumOf(this.unanswered, this.kinds, which);
  }
}

/** Resolves when the last answer is there, or when the server has closed every connection. */
export async function sendVisits({ url, visits, connections, count }: VisitLoadOptions): Promise<void> {
  const { hostname, port } = new URL(url);
  let left = count;

  const sendNext = (socket: Socket<Connection>): void => {
    if (left === 0) {
      socket.end();
      return;
    }
    left -= 1;
    const kind = visits.next();
    socket.data.waitsFor = kind;
    socket.data.unsent = visits.kinds[kind]!.request;
    flush(socket);
  };

  const visitor = async (): Promise<void> => {
    const closed = Promise.withResolvers<void>();
    const socket = await Bun.connect<Connection>({
      hostname,
      port: Number(port),
      data: { unsent: nothing, received: '', waitsFor: undefined },
      socket: {
        drain: flush,
        data(from, chunk) {
          const { data } = from;
          data.received += chunk.toString('latin1');
          if (data.waitsFor === undefined || !data.received.endsWith('\r\n\r\n')) return;
          if (!data.received.startsWith('HTTP/1.1 302 ')) visits.faults.push(data.received.slice(0, 200));
          data.received = '';
          visits.answered[data.waitsFor]! += 1;
          visits.answeredAtMs.push(performance.now());
          data.waitsFor = undefined;
          sendNext(from);
        },
        close({ data }) {
          if (data.waitsFor !== undefined) visits.unanswered[data.waitsFor]! += 1;
          closed.resolve();
        },
        // A reset is one more way to close, and `close` follows.
        error() {},
      },
    }).catch(() => undefined);
    // Nobody listens any longer: the server went before this visitor came.
    if (socket === undefined) return;
    sendNext(socket);
    await closed.promise;
  };
  await Promise.all(Array.from({ length: Math.min(connections, count) }, visitor));
}

/** A step that visits every place of a circle before it comes back, close to the golden section. */
function strideOver(length: number): number {
  const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));
  let stride = Math.max(1, Math.round(length * 0.618));
  while (greatestDivisor(length, stride) !== 1) stride += 1;
  return stride;
}

const nothing = Buffer.alloc(0);

function flush(socket: Socket<Connection>): void {
  const { unsent } = socket.data;
  if (unsent.length > 0) socket.data.unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
}

function sumOf(
  counts: Float64Array,
  kinds: readonly VisitKind[],
  which: (kind: VisitKind) => boolean,
): number {
  return kinds.reduce((sum, kind, index) => (which(kind) ? sum + counts[index]! : sum), 0);
}
