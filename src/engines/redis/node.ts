/**
 * One Redis server and the connection to it. It is either in use or down: down until it has answered a probe, and again
 * when its connection breaks or the breaker opens. While it is down, calls fail at once and a probe is sent from time
 * to time; a connection that does not answer is replaced, because its server may never return while another has its
 * address.
 */
import type { Clock } from '../../base/clock.ts';
import {
  answerWithin,
  type Client,
  nameOf,
  openClient,
  type RedisAddress,
  type ServerAddress,
  waitingMax,
} from './client.ts';
import { KeyedCalls } from './keyed-calls.ts';
import { RedisRefusal, type RedisReply, RedisUnavailable } from './redis.ts';

export interface NodeOptions {
  readonly clock: Clock;
  readonly login: RedisAddress;
  readonly server: ServerAddress;
  /** Whether it is one of a Cluster. If not, it has all keys, and one that follows another is of no use here. */
  readonly isOfCluster: boolean;
  /** How long it may take to show that it is well. */
  readonly timeoutMs: number;
  /** Called before the first call is sent. */
  readonly onAvailable: () => void;
  readonly onDown: (reason: string) => void;
}

/** How often a server that is in use has to show that it is well, whether or not it is asked anything else. */
const probeEveryMs = 1_000;
const silentProbesMax = 3;
/** Refusals by a server that is there but of no use for now. */
const uselessCodes = ['LOADING', 'READONLY', 'MASTERDOWN', 'CLUSTERDOWN', 'NOAUTH'];
const isUseless = (reply: RedisReply | RedisRefusal): boolean =>
  reply instanceof RedisRefusal && uselessCodes.includes(reply.code);

export class RedisNode {
  readonly name: string;
  readonly server: ServerAddress;
  readonly #options: NodeOptions;
  readonly #breaker: Breaker;
  /** Calls for one key each, which share round trips. */
  readonly keyed: KeyedCalls;
  #client: Client | undefined;
  #waiting = 0;
  #silentProbes = 0;
  #cancelProbe: (() => void) | undefined;
  #isClosed = false;
  failures = 0;
  refusals = 0;
  outages = 0;

  constructor(options: NodeOptions) {
    this.name = nameOf(options.server);
    this.server = options.server;
    this.#options = options;
    this.#breaker = new Breaker(options.clock);
    this.keyed = new KeyedCalls(this, options);
    void this.#probe();
  }

  get isAvailable(): boolean {
    return !this.#breaker.isOpen;
  }

  async send(args: readonly string[], deadlineMs: number): Promise<RedisReply> {
    const [reply] = await this.sendAll([args], 1, deadlineMs);
    if (reply instanceof RedisRefusal) throw reply;
    return reply!;
  }

  /** Several commands with one deadline, on behalf of `calls` callers. A refusal is the reply of its command. */
  async sendAll(
    commands: readonly (readonly string[])[],
    calls: number,
    deadlineMs: number,
  ): Promise<readonly (RedisReply | RedisRefusal)[]> {
    const client = this.#client;
    if (client === undefined || this.#breaker.isOpen || this.#waiting >= waitingMax) {
      this.refusals += calls;
      throw new RedisUnavailable(`${this.name} is down`);
    }
    this.#waiting += calls;
    const startedMs = this.#options.clock.monotonicMs();
    try {
      const replies = await answerWithin(this.#options.clock, deadlineMs, client.sendAll(commands));
      const useless = replies.find(isUseless);
      if (useless === undefined) this.#breaker.succeeded(calls);
      else this.#fail(client, useless, startedMs, calls);
      return replies;
    } catch (error) {
      this.#fail(client, error, startedMs, calls);
      throw error;
    } finally {
      this.#waiting -= calls;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#breaker.open();
    this.#cancelProbe?.();
    this.#drop();
  }

  #fail(client: Client, error: unknown, startedMs: number, calls: number): void {
    this.failures += calls;
    // A call of the connection before this one says nothing about this one.
    if (client === this.#client && this.#breaker.failed(startedMs, calls)) this.#markDown(String(error));
  }

  #markDown(reason: string): void {
    this.outages += 1;
    this.#silentProbes = 0;
    if (this.#isClosed) return;
    this.#plan();
    this.#options.onDown(`${this.name}: ${reason}`);
  }

  /** The connection is gone, so there is nothing to probe before a new one is opened. */
  #lose(client: Client | undefined, reason: string): void {
    if (client !== this.#client || client === undefined) return;
    this.#drop();
    if (this.#breaker.isOpen) return;
    this.#breaker.open();
    this.#markDown(reason);
  }

  #drop(): void {
    const client = this.#client;
    this.#client = undefined;
    client?.destroy();
  }

  #plan(): void {
    if (this.#isClosed) return;
    this.#cancelProbe?.();
    const delayMs = this.#breaker.isOpen ? this.#breaker.waitMs : probeEveryMs;
    this.#cancelProbe = this.#options.clock.after(delayMs, () => void this.#probe());
  }

  async #probe(): Promise<void> {
    this.#cancelProbe = undefined;
    const wasOpen = this.#breaker.isOpen;
    try {
      this.#client ??= await this.#open();
      await answerWithin(this.#options.clock, this.#options.timeoutMs, this.#isWell(this.#client));
      if (this.#isClosed) return this.#drop();
      this.#silentProbes = 0;
      // Calls that failed meanwhile know more than a probe that began before them.
      if (wasOpen && this.#client !== undefined) {
        this.#breaker.close();
        this.#options.onAvailable();
      }
    } catch (error) {
      if (this.#isClosed) return this.#drop();
      this.#silentProbes += 1;
      if (this.#silentProbes >= silentProbesMax || !this.#client?.isConnected) this.#drop();
      if (!this.#breaker.isOpen) {
        this.#breaker.open();
        this.#markDown(String(error));
      }
    }
    this.#plan();
  }

  async #open(): Promise<Client> {
    const { clock, login, server } = this.#options;
    let opened: Client | undefined;
    opened = await openClient({ clock, login, server, onLost: reason => this.#lose(opened, reason) });
    return opened;
  }

  async #isWell(client: Client): Promise<void> {
    const [, role] = await Promise.all([client.send(['PING']), this.#roleOf(client)]);
    if (!this.#options.isOfCluster && role !== 'master') throw new RedisUnavailable(`is a ${role}`);
  }

  /** A user that may not ask finds out at the first write that is rejected. */
  async #roleOf(client: Client): Promise<string> {
    if (this.#options.isOfCluster) return 'of no interest';
    try {
      const role = await client.send(['ROLE']);
      return Array.isArray(role) ? String(role[0]) : 'master';
    } catch (error) {
      if (error instanceof RedisRefusal) return 'master';
      throw error;
    }
  }
}

/**
 * Decides when a server counts as down, from how its calls end: a few failures in a row, or a good share of the recent
 * calls. Calls that waited at the same time fail together when a server pauses for a moment, and are one failure in a
 * row. A probe decides when to use it again; each return that soon proves premature makes the wait for the next probe
 * twice as long, so that a flapping server is not tried by every visitor.
 */
const failuresInRowMax = 3;
/** The share is taken over calls of this long, and says nothing about fewer than so many. */
const windowMs = 1_000;
const windowCallsMin = 20;
const failureShareMax = 0.25;
const probeAfterMs = 200;
const probeAfterMaxMs = 3_200;
/** Staying well for this long makes up for the past. */
const soundAfterMs = 10_000;

export class Breaker {
  readonly #clock: Clock;
  #isOpen = true;
  #failuresInRow = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #windowStartedMs = 0;
  #windowCalls = 0;
  #windowFailures = 0;
  #closedAtMs = Number.NEGATIVE_INFINITY;
  #probeAfterMs = probeAfterMs;

  /** Open at first: a server that has not answered yet counts as down. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** How long to leave the server alone before it is probed again. */
  get waitMs(): number {
    return this.#probeAfterMs;
  }

  succeeded(calls = 1): void {
    this.#failuresInRow = 0;
    this.#count(calls, 0);
  }

  /** True when this failure, of calls that began then, is the one that opens it. */
  failed(startedMs: number, calls = 1): boolean {
    if (this.#isOpen) return false;
    if (startedMs >= this.#failedAtMs) {
      this.#failuresInRow += 1;
      this.#failedAtMs = this.#clock.monotonicMs();
    }
    this.#count(calls, calls);
    const isBadShare =
      this.#windowCalls >= windowCallsMin && this.#windowFailures >= this.#windowCalls * failureShareMax;
    if (this.#failuresInRow < failuresInRowMax && !isBadShare) return false;
    this.open();
    return true;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const wasSound = this.#clock.monotonicMs() - this.#closedAtMs >= soundAfterMs;
    this.#probeAfterMs = wasSound ? probeAfterMs : Math.min(this.#probeAfterMs * 2, probeAfterMaxMs);
  }

  close(): void {
    this.#isOpen = false;
    this.#failuresInRow = 0;
    this.#windowCalls = 0;
    this.#windowFailures = 0;
    this.#windowStartedMs = this.#closedAtMs = this.#clock.monotonicMs();
  }

  #count(calls: number, failures: number): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#windowStartedMs >= windowMs) {
      this.#windowStartedMs = nowMs;
      this.#windowCalls = 0;
      this.#windowFailures = 0;
    }
    this.#windowCalls += calls;
    this.#windowFailures += failures;
  }
}
