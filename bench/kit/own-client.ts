/**
 * Our own load client: HTTP/1.1 on bare sockets, in a closed loop or at a constant rate. What is due is sent over
 * a connection that is free; if none is and there may be more, a new one is opened for it; if not, it waits, and
 * its latency counts from when it was due. Every visit ends in exactly one way: answered, broken, or given up.
 */
import type { Socket } from 'bun';
import { type AnswerHead, readAnswer } from './answer.ts';
import { type Arrivals, closedLoop, PacedArrivals } from './arrivals.ts';
import type { ClientPlan, ClientReport, OnMoment } from './client-plan.ts';
import { Histogram } from './histogram.ts';
import { VisitRecord } from './visit-record.ts';

interface Visit {
  readonly dueNs: number;
  readonly request: Request;
  readonly isRetry: boolean;
}

interface Request {
  readonly bytes: Buffer;
  /** Whether sending it twice does no harm. */
  readonly isRepeatable: boolean;
}

interface Connection {
  /** What waits for its answer; undefined while the connection is free. */
  visit: Visit | undefined;
  unsent: Buffer;
  received: Buffer;
  answers: number;
  isClosed: boolean;
}

type LoadSocket = Socket<Connection>;

const nothing = Buffer.alloc(0);
const patienceCheckNs = 50e6;

export async function runOwnClient(plan: ClientPlan, onMoment: OnMoment = () => {}): Promise<ClientReport> {
  const texts = (await Bun.file(plan.requestsFile).bytes().then(latin1)).split('\0');
  const requests = texts.map(text => ({
    bytes: Buffer.from(text, 'latin1'),
    isRepeatable: /^(?:GET|HEAD) /.test(text),
  }));
  const client = new Client(plan, requests);
  await client.openAll();
  return client.run(onMoment);
}

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer).toString('latin1');

class Client {
  readonly #plan: ClientPlan;
  readonly #requests: readonly Request[];
  readonly #lag = new Histogram();
  readonly #sockets = new Set<LoadSocket>();
  readonly #free: LoadSocket[] = [];
  readonly #retries: Visit[] = [];
  #arrivals: Arrivals = closedLoop;
  #record = new VisitRecord({ fromNs: 0, toNs: 0, momentNs: 1 });
  /** Those that are being made included. */
  #connections = 0;
  #inFlight = 0;
  #inFlightMax = 0;
  #turn = 0;
  #sent = 0;
  #isStopped = true;
  #fault: unknown;
  #nextCheckNs = 0;
  #fromNs = 0;
  /** Since when a visit could have been sent at once. */
  #roomSinceNs = 0;
  /** When we last looked for answers, and when before that. */
  #looked = { lastNs: 0, beforeNs: 0 };

  constructor(plan: ClientPlan, requests: readonly Request[]) {
    this.#plan = plan;
    this.#requests = requests;
  }

  async openAll(): Promise<void> {
    if (!this.#plan.isKeptAlive) return;
    await Promise.all(Array.from({ length: this.#plan.connections }, () => this.#open(undefined)));
    if (this.#free.length < this.#plan.connections) throw new Error(`nobody listens at ${this.#plan.url}`);
  }

  async run(onMoment: OnMoment): Promise<ClientReport> {
    const { perSecond, warmUpS, durationS, momentS, patienceMs, unsentMaxMs, isSpinning } = this.#plan;
    const startNs = Bun.nanoseconds();
    const fromNs = startNs + warmUpS * 1e9;
    this.#fromNs = fromNs;
    const toNs = fromNs + durationS * 1e9;
    this.#record = new VisitRecord({ fromNs, toNs, momentNs: momentS * 1e9 }, onMoment);
    if (perSecond !== null) {
      const count = Math.round(perSecond * (warmUpS + durationS));
      this.#arrivals = new PacedArrivals({ startNs, perSecond, count, patienceNs: unsentMaxMs * 1e6 });
    }
    this.#isStopped = false;
    const endedAtMs = Date.now() + (toNs - startNs) / 1e6;
    await new Promise<void>((resolve, reject) => {
      const tick = (): void => {
        const nowNs = Bun.nanoseconds();
        if (this.#fault !== undefined) {
          reject(this.#fault);
          return;
        }
        if (nowNs > toNs && (perSecond === null || this.#isDone || nowNs > toNs + 2e6 * patienceMs)) {
          resolve();
          return;
        }
        this.#looked = { lastNs: nowNs, beforeNs: this.#looked.lastNs };
        this.#sendDue(nowNs);
        this.#loseThePatience(nowNs);
        if (isSpinning && perSecond !== null) setImmediate(tick);
        else setTimeout(tick, 1);
      };
      tick();
    });
    const endNs = Bun.nanoseconds();
    this.#isStopped = true;
    for (const socket of this.#sockets) socket.terminate();
    if (perSecond === null) this.#addOmitted((endNs - fromNs) / 1_000);
    const report = this.#record.report(endNs);
    return {
      client: 'own',
      ...report,
      sent: this.#sent,
      lagP99Ms: this.#lag.quantileUs(0.99) / 1_000,
      lagMaxMs: this.#lag.maxUs / 1_000,
      inFlightMax: this.#inFlightMax,
      durationS: (Math.min(endNs, toNs) - fromNs) / 1e9,
      endedAtMs,
    };
  }

  get #isDone(): boolean {
    return this.#arrivals.isOver && this.#inFlight === 0 && this.#retries.length === 0;
  }

  /** In a closed loop a stall keeps visits from being sent, and those would have met it as well. */
  #addOmitted(durationUs: number): void {
    const { served } = this.#record;
    if (served.count > 0) served.addOmitted((durationUs * this.#plan.connections) / served.count);
  }

  #sendDue(nowNs: number): void {
    while (!this.#isStopped) {
      const socket = this.#freeSocket();
      if (socket === undefined && this.#connections >= this.#plan.connectionsMax) return;
      const visit = this.#retries.pop() ?? this.#nextVisit(nowNs);
      if (visit === undefined) {
        if (socket !== undefined) this.#free.push(socket);
        return;
      }
      this.#inFlight += 1;
      if (this.#inFlight > this.#inFlightMax) this.#inFlightMax = this.#inFlight;
      if (socket === undefined) this.#open(visit);
      else send(socket, visit);
    }
  }

  #nextVisit(nowNs: number): Visit | undefined {
    const goneBefore = this.#arrivals.gaveUp;
    const dueNs = this.#arrivals.next(nowNs);
    const gone = this.#arrivals.gaveUp - goneBefore;
    if (gone > 0) this.#record.noteGaveUp(nowNs, gone);
    if (dueNs === undefined) return undefined;
    if (nowNs >= this.#fromNs) this.#sent += 1;
    this.#noteLag(Math.max(dueNs, this.#roomSinceNs), nowNs);
    const request = this.#requests[this.#turn % this.#requests.length]!;
    this.#turn += 1;
    return { dueNs, request, isRetry: false };
  }

  #noteLag(sinceNs: number, nowNs: number): void {
    if (nowNs >= this.#fromNs) this.#lag.record((nowNs - sinceNs) / 1_000);
  }

  /** To be called before a connection becomes free or ends: while there was no room, it was not we who were late. */
  #makeRoom(): void {
    if (this.#free.length === 0 && this.#connections >= this.#plan.connectionsMax) {
      this.#roomSinceNs = Bun.nanoseconds();
    }
  }

  #freeSocket(): LoadSocket | undefined {
    for (;;) {
      const socket = this.#free.pop();
      // The server may have closed it while nobody used it.
      if (socket === undefined || !socket.data.isClosed) return socket;
    }
  }

  /** The connection carries `visit` as soon as it is there. */
  async #open(visit: Visit | undefined): Promise<void> {
    const { hostname, port } = new URL(this.#plan.url);
    this.#connections += 1;
    await Bun.connect<Connection>({
      hostname,
      port: Number(port),
      data: { visit, unsent: nothing, received: nothing, answers: 0, isClosed: false },
      socket: {
        open: socket => {
          this.#sockets.add(socket);
          if (visit === undefined) this.#free.push(socket);
          else send(socket, visit);
        },
        drain: flush,
        data: (socket, chunk) => this.#receive(socket, chunk),
        close: socket => this.#closed(socket),
        // A reset is one more way to close, and `close` follows.
        error() {},
        connectError: () => {
          this.#makeRoom();
          this.#connections -= 1;
          if (visit !== undefined) this.#break();
        },
      },
    }).catch(() => {});
  }

  #receive(socket: LoadSocket, chunk: Buffer): void {
    const { data } = socket;
    data.received = data.received.length === 0 ? chunk : Buffer.concat([data.received, chunk]);
    const answer = this.#answerIn(data.received);
    if (answer === undefined || data.visit === undefined || this.#isStopped) return;
    const nowNs = Bun.nanoseconds();
    this.#record.noteAnswer(answer.status, data.visit.dueNs, nowNs, answer.saysWhen);
    // It was not there when we looked before, so it cannot have waited for us for longer.
    this.#noteLag(this.#looked.beforeNs, nowNs);
    this.#inFlight -= 1;
    data.visit = undefined;
    data.received = nothing;
    data.answers += 1;
    this.#makeRoom();
    if (answer.isLast || !this.#plan.isKeptAlive) this.#part(socket);
    else this.#free.push(socket);
    this.#sendDue(nowNs);
  }

  /** What is thrown in the handler of a socket ends the socket only, and this is to end the load. */
  #answerIn(received: Buffer): AnswerHead | undefined {
    try {
      return readAnswer(received);
    } catch (error) {
      this.#fault = error;
      return undefined;
    }
  }

  #closed(socket: LoadSocket): void {
    const { visit, received, answers } = socket.data;
    this.#makeRoom();
    if (!socket.data.isClosed) this.#connections -= 1;
    socket.data.isClosed = true;
    this.#sockets.delete(socket);
    if (visit === undefined || this.#isStopped) return;
    // A server may close a connection that nobody uses, and a client that uses it just then asks again: it cannot
    // have been answered. On a connection of its own, or with half an answer, it is a failure.
    const mayRetry = answers > 0 && received.length === 0 && visit.request.isRepeatable && !visit.isRetry;
    if (!mayRetry) {
      this.#break();
      return;
    }
    this.#inFlight -= 1;
    this.#record.noteRetried(Bun.nanoseconds());
    this.#retries.push({ ...visit, isRetry: true });
  }

  #break(): void {
    if (this.#isStopped) return;
    this.#inFlight -= 1;
    this.#record.noteBroken(Bun.nanoseconds());
  }

  /** Closes from our side: this connection is none any more, though its end takes a while. */
  #part(socket: LoadSocket): void {
    socket.data.isClosed = true;
    this.#connections -= 1;
    socket.end();
  }

  #loseThePatience(nowNs: number): void {
    if (nowNs < this.#nextCheckNs) return;
    this.#nextCheckNs = nowNs + patienceCheckNs;
    const lateNs = nowNs - this.#plan.patienceMs * 1e6;
    for (const socket of this.#sockets) {
      const { visit } = socket.data;
      if (visit === undefined || visit.dueNs > lateNs) continue;
      socket.data.visit = undefined;
      this.#inFlight -= 1;
      this.#record.noteGaveUp(nowNs);
      socket.terminate();
    }
  }
}

function send(socket: LoadSocket, visit: Visit): void {
  socket.data.visit = visit;
  socket.data.unsent = visit.request.bytes;
  flush(socket);
}

function flush(socket: LoadSocket): void {
  const { unsent } = socket.data;
  if (unsent.length > 0) socket.data.unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
}
