/**
 * One Redis server and the connection to it. It is in use or away, and nothing in between: away until it answered a
 * probe, again when its connection breaks or the breaker opens. While away, calls fail at once and a probe is sent from
 * time to time; a connection that stays silent is replaced, because the server behind it may be gone for good while
 * another has its address.
 */
import type { Clock } from '../../base/clock.ts';
import { nameOf, type RedisAddress, type ServerAddress } from './address.ts';
import { Breaker } from './breaker.ts';
import { type Client, openClient, waitingMax, withinDeadline } from './client.ts';
import { RedisRefusal, type RedisReply, RedisUnavailable } from './redis.ts';

export interface NodeOptions {
  readonly clock: Clock;
  readonly login: RedisAddress;
  readonly server: ServerAddress;
  /** Whether a server that follows another is of no use here. */
  readonly mustBePrimary: boolean;
  /** How long it may take to show that it is well. */
  readonly patienceMs: number;
  /** Told before the first call is sent. */
  readonly onAvailable: () => void;
  readonly onAway: (reason: string) => void;
}

/** How often a server that is in use has to show that it is well, whether or not it is asked anything else. */
const probeEveryMs = 1_000;
const silentProbesMax = 3;
/** Refusals by a server that is there but of no use for now. */
const uselessCodes = ['LOADING', 'READONLY', 'MASTERDOWN', 'CLUSTERDOWN', 'NOAUTH'];

export class RedisNode {
  readonly name: string;
  readonly server: ServerAddress;
  readonly #options: NodeOptions;
  readonly #breaker: Breaker;
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
    void this.#probe();
  }

  get isAvailable(): boolean {
    return !this.#breaker.isOpen;
  }

  async send(args: readonly string[], deadlineMs: number): Promise<RedisReply> {
    const client = this.#client;
    if (client === undefined || this.#breaker.isOpen || this.#waiting >= waitingMax) {
      this.refusals += 1;
      throw new RedisUnavailable(`${this.name} is away`);
    }
    this.#waiting += 1;
    const startedMs = this.#options.clock.monotonicMs();
    try {
      const reply = await withinDeadline(this.#options.clock, deadlineMs, client.send(args));
      this.#breaker.succeeded();
      return reply;
    } catch (error) {
      this.#judge(client, error, startedMs);
      throw error;
    } finally {
      this.#waiting -= 1;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#breaker.open();
    this.#cancelProbe?.();
    this.#drop();
  }

  #judge(client: Client, error: unknown, startedMs: number): void {
    if (error instanceof RedisRefusal && !uselessCodes.includes(error.code)) {
      this.#breaker.succeeded();
      return;
    }
    this.failures += 1;
    // A call of the connection before this one says nothing about this one.
    if (client === this.#client && this.#breaker.failed(startedMs)) this.#turnAway(String(error));
  }

  #turnAway(reason: string): void {
    this.outages += 1;
    this.#silentProbes = 0;
    if (this.#isClosed) return;
    this.#plan();
    this.#options.onAway(`${this.name}: ${reason}`);
  }

  /** The connection is gone, so there is nothing to probe before a new one is opened. */
  #lose(client: Client | undefined, reason: string): void {
    if (client !== this.#client || client === undefined) return;
    this.#drop();
    if (this.#breaker.isOpen) return;
    this.#breaker.open();
    this.#turnAway(reason);
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
      await withinDeadline(this.#options.clock, this.#options.patienceMs, this.#isWell(this.#client));
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
        this.#turnAway(String(error));
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
    if (this.#options.mustBePrimary && role !== 'master') throw new RedisUnavailable(`is a ${role}`);
  }

  /** Whoever is not allowed to ask finds out at the first write that is refused. */
  async #roleOf(client: Client): Promise<string> {
    if (!this.#options.mustBePrimary) return 'of no interest';
    try {
      const role = await client.send(['ROLE']);
      return Array.isArray(role) ? String(role[0]) : 'master';
    } catch (error) {
      if (error instanceof RedisRefusal) return 'master';
      throw error;
    }
  }
}
