/**
 * Many visitors on keep-alive connections, each following its next link as soon as the last was answered. Answered and
 * unanswered visits are counted separately for every kind, because a killed server may or may not have recorded the
 * visits that it did not answer.
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
  /** How many visits are sent, unless the server stops before. */
  readonly count: number;
  /** Whether a visitor whose connection breaks, or cannot be opened, retries: other processes may still serve. */
  readonly comesBack?: boolean;
  /** After how many visits a visitor opens a new connection. */
  readonly visitsPerConnection?: number;
}

interface Connection {
  /** The part of the request that is not sent yet. */
  unsent: Buffer;
  received: string;
  /** The index of the kind that waits for its answer; undefined when none does. */
  waitsFor: number | undefined;
  visits: number;
  sentAtMs: number;
  /** Whether this side ended the connection, or the server announced that it would. */
  isDone: boolean;
}

/** The results of the visits of each kind, over any number of loads. */
export class VisitTally {
  readonly kinds: readonly VisitKind[];
  readonly answered: Float64Array;
  /** Sent, at least in part, on a connection that broke before the answer was there. */
  readonly unanswered: Float64Array;
  /** Connections that the server closed unannounced, and connections that it did not accept. */
  broken = 0;
  refused = 0;
  /** Answers that were no redirect. */
  readonly faults: string[] = [];
  /** When each visit was answered, in milliseconds; in order. */
  readonly answeredAtMs: number[] = [];
  /** How long each of them took, in the same order. */
  readonly tookMs: number[] = [];
  readonly #stride: number;
  #turn = 0;

  constructor(kinds: readonly VisitKind[]) {
    this.kinds = kinds;
    this.#stride = strideOver(kinds.length);
    this.answered = new Float64Array(kinds.length);
    this.unanswered = new Float64Array(kinds.length);
  }

  /** All kinds come equally often; similar kinds, which are neighbours in the list, come far apart. */
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

const comeBackAfterMs = 10;

/** Resolves on the last answer, or when the server has closed every connection that is not reopened. */
export async function sendVisits(options: VisitLoadOptions): Promise<void> {
  const { url, visits, connections, count, comesBack = false } = options;
  const { visitsPerConnection = Number.POSITIVE_INFINITY } = options;
  const { hostname, port } = new URL(url);
  let left = count;

  const sendNext = (socket: Socket<Connection>): void => {
    const { data } = socket;
    if (left === 0 || data.isDone || data.visits === visitsPerConnection) {
      data.isDone = true;
      socket.end();
      return;
    }
    left -= 1;
    data.visits += 1;
    const kind = visits.next();
    data.waitsFor = kind;
    data.sentAtMs = performance.now();
    data.unsent = visits.kinds[kind]!.request;
    flush(socket);
  };

  /** Whether the connection ended as announced. */
  const visitOnOneConnection = async (): Promise<boolean> => {
    const closed = Promise.withResolvers<boolean>();
    const socket = await Bun.connect<Connection>({
      hostname,
      port: Number(port),
      data: { unsent: nothing, received: '', waitsFor: undefined, visits: 0, sentAtMs: 0, isDone: false },
      socket: {
        drain: flush,
        data(from, chunk) {
          const { data } = from;
          data.received += chunk.toString('latin1');
          if (data.waitsFor === undefined || !data.received.endsWith('\r\n\r\n')) return;
          if (!data.received.startsWith('HTTP/1.1 302 ')) visits.faults.push(data.received.slice(0, 200));
          data.isDone = data.received.includes('\r\nConnection: close\r\n');
          data.received = '';
          visits.answered[data.waitsFor]! += 1;
          const nowMs = performance.now();
          visits.answeredAtMs.push(nowMs);
          visits.tookMs.push(nowMs - data.sentAtMs);
          data.waitsFor = undefined;
          sendNext(from);
        },
        close({ data }) {
          if (data.waitsFor !== undefined) visits.unanswered[data.waitsFor]! += 1;
          if (!data.isDone) visits.broken += 1;
          closed.resolve(data.isDone);
        },
        // A reset is one more way to close, and `close` follows.
        error() {},
      },
    }).catch(() => undefined);
    if (socket === undefined) {
      visits.refused += 1;
      return false;
    }
    sendNext(socket);
    return closed.promise;
  };

  const visitor = async (): Promise<void> => {
    while (left > 0) {
      if (await visitOnOneConnection()) continue;
      if (!comesBack) return;
      await Bun.sleep(comeBackAfterMs);
    }
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
