/**
 * An installation of several machines on a database and a Redis, under faults: links, aliases, kills, deletions, expiry,
 * keys. Clients know only the answers that they got, and judge every answer by it (history.ts).
 */

import { createRedisPendings } from '../../src/links/pendings/redis/pendings.ts';
import { SimDatabase } from './database.ts';
import type { Fault, FaultKind } from './faults.ts';
import { LinkHistory, Violation } from './history.ts';
import { SimKafka } from './kafka.ts';
import { type Kernel, Party } from './kernel.ts';
import { Network } from './network.ts';
import { SimProcess, type SimResponse } from './process.ts';
import { SimRedis } from './redis.ts';

export const sharedFaultKinds: readonly FaultKind[] = [
  'crash-process',
  'pause-process',
  'restart-process',
  'pause-database',
  'crash-database',
  'cut-database',
  'pause-redis',
  'restart-redis-empty',
  'fail-over-redis',
  'evict-redis',
  'cut-redis',
  'isolate-process',
  'lose-messages',
  'lose-packets',
  'slow-network',
  'jump-clock',
  'drift-clock',
];

const adminKey = `terse_${'k'.repeat(43)}`;
const processCount = 3;
const clientCount = 4;
const startedMs = 2_500;
const faultsUntilMs = 30_000;
const settleMs = 20_000;
export const sharedFaultWindow = { processes: processCount, fromMs: startedMs, toMs: faultsUntilMs };

/** ADR 21: by the feed or by messages, with the latency of this network. */
const usualBoundMs = 3_600;
const isolatedMs = 15_000;
const skewMaxMs = 4_000;
const clientMaxMs = 12_000;
/** Within which workers write the records of queued links again, once Redis and the queue can be reached. */
const restoreMs = 30_000;
const aliases = ['spring', 'summer', 'autumn', 'winter'];

export interface RunFigures {
  readonly operations: number;
  readonly failed: number;
  readonly redirects: number;
}

export class SharedEnginesRun {
  readonly #kernel: Kernel;
  readonly #pace: number;
  readonly #isQueued: boolean;
  /** When Redis last came back with less than it had. */
  #redisLostMs = Number.NEGATIVE_INFINITY;
  readonly #network: Network;
  readonly #database: SimDatabase;
  readonly #redis: SimRedis;
  readonly #kafka: SimKafka;
  readonly #processes: SimProcess[];
  readonly #links = new Map<string, LinkHistory>();
  readonly #codes = new Set<string>();
  /** URLs of creates that were answered as not done: none of them may exist. */
  readonly #notDone = new Set<string>();
  /** URLs of creates that were repeated under one Idempotency-Key. */
  readonly #madeOnce = new Set<string>();
  /** Owners' keys; revoked ones with the time of the acknowledgement. */
  readonly #keys: {
    readonly secret: string;
    readonly id: string;
    revokedMs?: number;
    isDoubtful?: boolean;
  }[] = [];
  /** Since when each process has been able to reach the database without any fault. */
  readonly #wellSinceMs: number[];
  /** Processes that never reached Redis since they started, while they could change links (ADR 21, the gap). */
  readonly #unseen = new Set<string>();
  #operations = 0;
  #failed = 0;
  #redirects = 0;
  #urls = 0;

  /** `pace`: how many times longer than usual everything that is not a latency or a deadline takes. */
  constructor(kernel: Kernel, writes: 'direct' | 'queued', pace = 1) {
    this.#kernel = kernel;
    this.#pace = pace;
    this.#isQueued = writes === 'queued';
    this.#network = new Network(kernel);
    this.#database = new SimDatabase(kernel, this.#network);
    this.#redis = new SimRedis(kernel, this.#network);
    this.#kafka = new SimKafka(kernel, this.#network);
    const env = {
      TERSE_LINKS: 'postgres://database/terse',
      TERSE_CACHE: 'redis://redis',
      TERSE_CLICKS: 'off',
      TERSE_ADMIN_KEY: adminKey,
      TERSE_RANGE_SIZE: '40',
      ...(writes === 'queued' && { TERSE_WRITES: 'queued', TERSE_STREAM: 'kafka://kafka/clicks' }),
      TERSE_STALE_IF_ISOLATED_S: String(isolatedMs / 1_000),
    };
    this.#processes = Array.from(
      { length: processCount },
      (_, index) =>
        new SimProcess(kernel, `terse-${index}`, env, ({ party }) => ({
          openStores: async () => this.#database.openFor(party),
          openRedis: async () => this.#redis.openFor(party),
          openQueue: async (_stream, { redis }) => ({
            queue: this.#kafka.queueFor(party),
            pendings: createRedisPendings(redis, { clock: party.clock() }),
          }),
        })),
    );
    this.#wellSinceMs = this.#processes.map(() => kernel.nowMs);
  }

  async run(faults: readonly Fault[]): Promise<RunFigures> {
    const kernel = this.#kernel;
    const { startMs } = kernel;
    for (const process of this.#processes) process.boot();
    for (const fault of faults) {
      kernel.outside.after(fault.atMs, () => {
        kernel.note(`fault: ${fault.kind} ${fault.process}`);
        this.#begin(fault);
      });
      kernel.outside.after(fault.atMs + fault.forMs, () => this.#end(fault));
    }
    await kernel.runUntil(startMs + startedMs);
    let failure: unknown;
    const guard = (work: Promise<void>): void =>
      void work.catch(error => {
        failure ??= error;
      });
    const clients = Array.from({ length: clientCount }, (_, index) => new Party(kernel, `client-${index}`));
    for (const [index, client] of clients.entries())
      client.after(kernel.between(0, 200), () => guard(this.#client(client, index)));
    const endMs = startMs + faultsUntilMs * this.#pace + settleMs;
    while (kernel.nowMs < endMs && failure === undefined) await kernel.runUntil(kernel.nowMs + 250);
    if (failure === undefined) {
      this.#heal();
      await kernel.runUntil(kernel.nowMs + settleMs);
      const last = new Party(kernel, 'last-client');
      let isDone = false;
      last.after(0, () =>
        guard(
          this.#checkAll(last).then(() => {
            isDone = true;
          }),
        ),
      );
      const deadlineMs = kernel.nowMs + 120_000;
      while (!isDone && failure === undefined && kernel.nowMs < deadlineMs)
        await kernel.runUntil(kernel.nowMs + 250);
      if (!isDone) failure ??= new Violation('the last checks did not end: no progress after healing');
    }
    if (failure !== undefined) throw failure;
    return { operations: this.#operations, failed: this.#failed, redirects: this.#redirects };
  }

  async #client(client: Party, index: number): Promise<void> {
    const kernel = this.#kernel;
    const endMs = kernel.startMs + faultsUntilMs * this.#pace + settleMs / 2;
    const weighted: readonly [number, () => Promise<void>][] = [
      [2, () => this.#create(client, index)],
      [2, () => this.#claim(client, index)],
      [4, () => this.#change(client, index)],
      [1, () => this.#delete(client, index)],
      [1, () => this.#expire(client, index)],
      [1, () => this.#createMany(client, index)],
      [1, () => this.#limit(client)],
      [1, () => this.#useKeys(client)],
      [14, () => this.#follow(client)],
    ];
    const actions = weighted.flatMap(([weight, action]) => Array.from({ length: weight }, () => action));
    while (kernel.nowMs < endMs) {
      await kernel.pick(actions)();
      await new Promise<void>(resolve => client.after(kernel.between(5, 250 * this.#pace), resolve));
    }
  }

  async #send(
    client: Party,
    method: string,
    path: string,
    body?: unknown,
    { key = adminKey, idempotencyKey }: { key?: string; idempotencyKey?: string } = {},
  ): Promise<{ response: SimResponse | undefined; by: SimProcess; askedMs: number }> {
    const kernel = this.#kernel;
    const by = kernel.pick(this.#processes);
    const askedMs = kernel.nowMs;
    this.#operations += 1;
    const isFollow = method === 'GET' && !path.startsWith('/api');
    const request = {
      method,
      path,
      ...(body !== undefined && { body }),
      ...(!isFollow && { key }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    };
    const response = await Promise.race([
      by.request(client, request),
      new Promise<undefined>(resolve => client.after(clientMaxMs, () => resolve(undefined))),
    ]);
    if (response === undefined || response.status >= 500) this.#failed += 1;
    if (response?.status === 500) throw new Violation(`${method} ${path} answered 500: ${response.body}`);
    kernel.note(
      `${client.name} ${method} ${path} ${body === undefined ? '' : JSON.stringify(body)} at ${by.party.name} asked ${((askedMs - kernel.startMs) / 1_000).toFixed(3)}: ${response === undefined ? 'no answer' : `${response.status} ${response.location ?? ''}`}`,
    );
    return { response, by, askedMs };
  }

  #newUrl(): string {
    this.#urls += 1;
    return `https://d${this.#urls}.example/`;
  }

  async #create(client: Party, owner: number): Promise<void> {
    const longUrl = this.#newUrl();
    const idempotencyKey = this.#kernel.chance(0.5) ? `key-${this.#urls}` : undefined;
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      const keyed = idempotencyKey === undefined ? {} : { idempotencyKey };
      const { response, askedMs } = await this.#send(client, 'POST', '/api/v1/links', { longUrl }, keyed);
      if (response?.status === 201) {
        // However often it was repeated.
        if (idempotencyKey !== undefined) this.#madeOnce.add(longUrl);
        this.#made(codeIn(response), owner, longUrl, askedMs);
        return;
      }
      if (attempt === 1) this.#noteRefusal(response, longUrl);
      if (idempotencyKey === undefined || !isDoubtful(response)) return;
    }
  }

  async #createMany(client: Party, owner: number): Promise<void> {
    const urls = [this.#newUrl(), this.#newUrl(), this.#newUrl()];
    const body = { links: urls.map(longUrl => ({ longUrl })) };
    const { response, askedMs } = await this.#send(client, 'POST', '/api/v1/links/bulk', body);
    if (response?.status !== 200) {
      for (const longUrl of urls) this.#noteRefusal(response, longUrl);
      return;
    }
    const { results } = JSON.parse(response.body) as {
      results: { status: number; link?: { shortCode: string } }[];
    };
    for (const [index, { status, link }] of results.entries())
      if (status === 201 && link !== undefined) this.#made(link.shortCode, owner, urls[index]!, askedMs);
  }

  /** A link that may be followed a few times: never more often, and never less unless an answer was lost. */
  async #limit(client: Party): Promise<void> {
    const kernel = this.#kernel;
    const maxClicks = 2;
    const longUrl = this.#newUrl();
    const { response } = await this.#send(client, 'POST', '/api/v1/links', { longUrl, maxClicks });
    if (response?.status !== 201) return this.#noteRefusal(response, longUrl);
    const code = codeIn(response);
    const acknowledgedMs = kernel.nowMs;
    let [followed, doubtful] = [0, 0];
    for (let visit = 0; visit < maxClicks + 3; visit += 1) {
      await new Promise<void>(resolve => client.after(kernel.between(1, 400), resolve));
      const { response: answer } = await this.#send(client, 'GET', `/${code}`);
      const isUnknown = answer?.status === 404 && this.#mayBeUnknown({ acknowledgedMs });
      if (answer === undefined || answer.status === 503 || isUnknown) doubtful += 1;
      else if (answer.status === 302) followed += 1;
      else if (answer.status !== 410)
        throw new Violation(`${code} has a click limit and answered ${answer.status}`);
      else if (followed + doubtful < maxClicks)
        throw new Violation(`${code} was followed ${followed} times of ${maxClicks} and is used up`);
      if (followed > maxClicks)
        throw new Violation(`${code} was followed ${followed} times, at most ${maxClicks} are allowed`);
    }
  }

  #made(code: string, owner: number, longUrl: string, askedMs: number): LinkHistory {
    if (this.#codes.has(code)) throw new Violation(`the code ${code} was given out twice`);
    this.#codes.add(code);
    const link = new LinkHistory(code, owner, longUrl, askedMs, this.#kernel.nowMs);
    this.#links.set(code, link);
    return link;
  }

  #noteRefusal(response: SimResponse | undefined, longUrl: string): void {
    if (!isDoubtful(response)) this.#notDone.add(longUrl);
  }

  async #claim(client: Party, owner: number): Promise<void> {
    const kernel = this.#kernel;
    const customAlias = `${kernel.pick(aliases)}-${kernel.between(0, 30)}`;
    const longUrl = this.#newUrl();
    const body = { longUrl, customAlias };
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const { response, askedMs } = await this.#send(client, 'POST', '/api/v1/links', body);
      const status = response?.status;
      if (status === 201 || status === 200) {
        if (status === 200 && attempt === 1)
          throw new Violation(`${customAlias} was found before it was made`);
        this.#made(customAlias, owner, longUrl, askedMs);
        return;
      }
      // A repeat may find what an earlier attempt made; only a first attempt says that nothing was done.
      if (attempt === 1) this.#noteRefusal(response, longUrl);
      if (!isDoubtful(response) || kernel.chance(0.3)) return;
    }
  }

  #pickOwn(owner: number): LinkHistory | undefined {
    const own = [...this.#links.values()].filter(
      link => link.owner === owner && !link.isBusy && !link.isDeleted,
    );
    return own.length === 0 ? undefined : this.#kernel.pick(own);
  }

  async #change(client: Party, owner: number): Promise<void> {
    const kernel = this.#kernel;
    const link = this.#pickOwn(owner);
    if (link === undefined) return;
    const [destination, body] = kernel.pick<() => [string, object]>([
      () => {
        const longUrl = this.#newUrl();
        return [longUrl, { longUrl, status: 'active' }];
      },
      () => ['gone', { status: 'disabled' }],
    ])();
    await this.#apply(client, link, 'PATCH', destination, body);
  }

  async #delete(client: Party, owner: number): Promise<void> {
    const link = this.#pickOwn(owner);
    if (link === undefined || this.#kernel.chance(0.5)) return;
    link.isDeleted = true;
    await this.#apply(client, link, 'DELETE', 'gone');
  }

  async #apply(
    client: Party,
    link: LinkHistory,
    method: string,
    destination: string,
    body?: object,
  ): Promise<void> {
    link.isBusy = true;
    const changed = link.ask(destination, this.#kernel.nowMs);
    const { response, by } = await this.#send(client, method, `/api/v1/links/${link.code}`, body);
    link.isBusy = false;
    const status = response?.status;
    if (status === 200 || status === 204) return link.acknowledge(changed, this.#kernel.nowMs, by.party.name);
    const isMissing = status === 410 || (status === 404 && !this.#mayBeUnknown(link));
    if (isMissing)
      throw new Violation(`${link.code} was acknowledged and is not there: ${method} answered ${status}`);
    if (isDoubtful(response)) changed.isInDoubt = true;
    else link.retract(changed);
  }

  async #expire(client: Party, owner: number): Promise<void> {
    const kernel = this.#kernel;
    const longUrl = this.#newUrl();
    const expiresMs = Math.floor((kernel.nowMs + kernel.between(6_000, 12_000)) / 1_000) * 1_000;
    const expiresAt = new Date(expiresMs).toISOString();
    const { response, askedMs } = await this.#send(client, 'POST', '/api/v1/links', { longUrl, expiresAt });
    if (response?.status !== 201) return this.#noteRefusal(response, longUrl);
    const link = this.#made(codeIn(response), owner, longUrl, askedMs);
    link.expire(expiresMs, skewMaxMs);
    // An expired link cannot be edited, and is no longer interesting.
    link.isDeleted = true;
  }

  async #useKeys(client: Party): Promise<void> {
    const kernel = this.#kernel;
    const known = this.#keys.filter(({ isDoubtful }) => isDoubtful !== true);
    if (known.length < 3 || kernel.chance(0.3)) {
      const { response } = await this.#send(client, 'POST', '/api/v1/keys', { name: 'simulated' });
      if (response?.status !== 201) return;
      const made = JSON.parse(response.body) as { id: string; key: string };
      this.#keys.push({ secret: made.key, id: made.id });
      return;
    }
    const key = kernel.pick(known);
    if (key.revokedMs === undefined && kernel.chance(0.3)) {
      key.isDoubtful = true;
      const { response } = await this.#send(client, 'DELETE', `/api/v1/keys/${key.id}`);
      if (response?.status !== 204) return;
      key.revokedMs = kernel.nowMs;
      key.isDoubtful = false;
      return;
    }
    const revokedMs = key.revokedMs;
    const { response, askedMs } = await this.#send(client, 'GET', '/api/v1/links?limit=1', undefined, {
      key: key.secret,
    });
    if (response?.status === 401 && key.revokedMs === undefined && !key.isDoubtful)
      throw new Violation(`the key ${key.id} is valid and was rejected`);
    if (response?.status === 200 && revokedMs !== undefined && askedMs > revokedMs + usualBoundMs)
      throw new Violation(`the key ${key.id} was accepted ${askedMs - revokedMs} ms after it was revoked`);
  }

  async #follow(client: Party): Promise<void> {
    const kernel = this.#kernel;
    if (kernel.chance(0.05)) {
      const { response } = await this.#send(client, 'GET', '/neverMade');
      if (response !== undefined && response.status !== 404 && response.status !== 503)
        throw new Violation(`a code that was never made answered ${response.status}`);
      return;
    }
    if (kernel.chance(0.15)) return this.#followAlias(client);
    // Mostly the latest ones, and those that changed last.
    const links = [...this.#links.values()];
    if (links.length === 0) return;
    const link = kernel.chance(0.7) ? kernel.pick(links.slice(-8)) : kernel.pick(links);
    const { response, by, askedMs } = await this.#send(client, 'GET', `/${link.code}`);
    this.#redirects += 1;
    if (response !== undefined) this.#judge(link, response, by, askedMs);
  }

  /** An alias that may not be there yet, so that its absence is cached when it is claimed. */
  async #followAlias(client: Party): Promise<void> {
    const alias = `${this.#kernel.pick(aliases)}-${this.#kernel.between(0, 30)}`;
    const known = this.#links.get(alias);
    const { response, by, askedMs } = await this.#send(client, 'GET', `/${alias}`);
    this.#redirects += 1;
    if (response !== undefined && known !== undefined) this.#judge(known, response, by, askedMs);
  }

  /** A queued link whose record Redis has lost, until a worker has written it again (docs/operations/queued-writes.md). */
  #mayBeUnknown({ acknowledgedMs }: Pick<LinkHistory, 'acknowledgedMs'>): boolean {
    return (
      this.#isQueued &&
      acknowledgedMs < this.#redisLostMs &&
      this.#kernel.nowMs < this.#redisLostMs + restoreMs
    );
  }

  #judge(link: LinkHistory, response: SimResponse, by: SimProcess, askedMs: number): void {
    const { status, location } = response;
    if (status === 503) return;
    if (status === 404 && this.#mayBeUnknown(link)) return;
    if (status === 404) throw new Violation(`${link.code} was acknowledged and answered 404`);
    const destination = status === 410 ? 'gone' : location;
    if (destination === undefined) throw new Violation(`${link.code} answered ${status}`);
    const wellSinceMs = this.#wellSinceMs[this.#processes.indexOf(by)]!;
    const isRight = link.allows(destination, askedMs, this.#kernel.nowMs, ({ untilMs, endedBy }) => {
      // Reaching the database again, a process knows of every change a moment later.
      const byFeedMs = Math.max(0, wellSinceMs - untilMs) + usualBoundMs;
      if (endedBy !== undefined && this.#unseen.has(endedBy)) return byFeedMs;
      return Math.min(byFeedMs, isolatedMs + usualBoundMs);
    });
    if (isRight) return;
    const known = link.states.map(
      state =>
        `${state.destination} ${((state.fromMs - this.#kernel.startMs) / 1_000).toFixed(3)}–${((state.untilMs - this.#kernel.startMs) / 1_000).toFixed(3)}`,
    );
    throw new Violation(
      `${link.code} answered ${status} ${destination} at ${by.party.name}, asked for at ${((askedMs - this.#kernel.startMs) / 1_000).toFixed(3)}; it was ${known.join(', ')}`,
    );
  }

  /** After healing: every link leads where it should, from every process, and what was not done is not there. */
  async #checkAll(client: Party): Promise<void> {
    const stored = await this.#storedUrls();
    for (const longUrl of this.#madeOnce)
      if ((stored.get(longUrl) ?? 0) > 1) throw new Violation(`${longUrl} was made twice under one key`);
    for (const longUrl of this.#notDone)
      if (stored.has(longUrl)) throw new Violation(`${longUrl} was answered as not done, and is stored`);
    for (const link of this.#links.values()) {
      if ((await this.#database.links.find(link.code)) === undefined)
        throw new Violation(`${link.code} was acknowledged and is not stored`);
      for (const process of this.#processes) {
        const askedMs = this.#kernel.nowMs;
        const response = await process.request(client, { method: 'GET', path: `/${link.code}` });
        if (response === undefined || response.status === 503)
          throw new Violation(
            `${process.party.name} answers ${response?.status} for ${link.code} after healing`,
          );
        this.#judge(link, response, process, askedMs);
      }
    }
  }

  /** The URLs that links lead to, and how many do. */
  async #storedUrls(): Promise<Map<string, number>> {
    const urls = new Map<string, number>();
    let cursor: string | undefined;
    do {
      const page = await this.#database.links.listByDomain({ domain: 'example', limit: 1_000, cursor });
      for (const { longUrl } of page.links) urls.set(longUrl, (urls.get(longUrl) ?? 0) + 1);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return urls;
  }

  #begin({ kind, process: index, severity, forMs }: Fault): void {
    const process = this.#processes[index]!;
    const { party } = process;
    const database = this.#database.party;
    const redis = this.#redis;
    const how = severity < 0.5 ? 'silent' : 'refused';
    switch (kind) {
      case 'crash-process':
        process.crash();
        break;
      case 'pause-process':
        party.pause();
        break;
      case 'restart-process':
        party.after(0, () => void process.stop());
        break;
      case 'pause-database':
        database.pause();
        break;
      case 'crash-database':
        database.crash();
        break;
      case 'cut-database':
        this.#network.cut(party, database, how);
        break;
      case 'pause-redis':
        redis.party.pause();
        break;
      case 'restart-redis-empty':
      case 'fail-over-redis':
        redis.crash();
        break;
      case 'evict-redis':
        redis.evictSome(severity);
        break;
      case 'cut-redis':
        this.#network.cut(party, redis.party, how);
        break;
      case 'isolate-process':
        this.#network.cut(party, redis.party, how);
        this.#network.cut(party, database, how);
        break;
      case 'lose-messages':
        redis.messageLossRate = severity / 2;
        break;
      case 'lose-packets':
        this.#network.lossRate = severity / 3;
        break;
      case 'slow-network':
        this.#network.latencyMs = [1, 1 + severity * 200];
        break;
      case 'jump-clock':
        party.skewMs = (severity - 0.5) * skewMaxMs;
        break;
      case 'drift-clock':
        party.rate = 0.99 + severity * 0.02;
        break;
      default:
        throw new Error(`${kind} for ${forMs} ms is no fault of this installation`);
    }
    this.#noteState();
  }

  #end({ kind, process: index, severity }: Fault): void {
    const process = this.#processes[index]!;
    const { party } = process;
    const database = this.#database.party;
    const redis = this.#redis;
    switch (kind) {
      case 'crash-process':
      case 'restart-process':
        if (party.state === 'down') process.boot();
        break;
      case 'pause-process':
        party.resume();
        break;
      case 'pause-database':
        database.resume();
        break;
      case 'crash-database':
        if (database.state === 'down') database.recover();
        break;
      case 'pause-redis':
        redis.party.resume();
        break;
      case 'restart-redis-empty':
        if (redis.party.state === 'down') redis.restartEmpty();
        this.#redisLostMs = this.#kernel.nowMs;
        break;
      case 'fail-over-redis':
        if (redis.party.state === 'down') redis.failOver(severity * 2_000);
        this.#redisLostMs = this.#kernel.nowMs;
        break;
      case 'cut-database':
        this.#network.heal(party, database);
        break;
      case 'cut-redis':
        this.#network.heal(party, redis.party);
        break;
      case 'isolate-process':
        this.#network.heal(party, redis.party);
        this.#network.heal(party, database);
        break;
      case 'lose-messages':
        redis.messageLossRate = 0;
        break;
      case 'lose-packets':
        this.#network.lossRate = 0;
        break;
      case 'slow-network':
        this.#network.latencyMs = [0.2, 2];
        break;
    }
    this.#noteState();
  }

  #heal(): void {
    this.#network.healAll();
    this.#network.latencyMs = [0.2, 2];
    this.#redis.messageLossRate = 0;
    const { party: database } = this.#database;
    if (database.state === 'down') database.recover();
    database.resume();
    if (this.#redis.party.state === 'down') {
      this.#redis.restartEmpty();
      this.#redisLostMs = this.#kernel.nowMs;
    }
    this.#redis.party.resume();
    for (const process of this.#processes) {
      process.party.resume();
      if (!process.isServing) process.boot();
    }
    this.#noteState();
  }

  /** Called when a fault begins or ends: a process is well while nothing stands between it and the database. */
  #noteState(): void {
    const { party: database } = this.#database;
    const isSlow = this.#network.lossRate > 0 || this.#network.latencyMs[1] > 50;
    for (const [index, { party }] of this.#processes.entries()) {
      const isWell =
        database.state === 'up' && party.state === 'up' && !isSlow && !this.#network.isCut(party, database);
      if (!isWell) this.#wellSinceMs[index] = Number.POSITIVE_INFINITY;
      else if (this.#wellSinceMs[index] === Number.POSITIVE_INFINITY)
        this.#wellSinceMs[index] = this.#kernel.nowMs;
      const isOnChannel = this.#redis.party.state === 'up' && !this.#network.isCut(party, this.#redis.party);
      if (!isOnChannel || isSlow || this.#redis.messageLossRate > 0) this.#unseen.add(party.name);
    }
  }
}

const codeIn = ({ body }: SimResponse): string => (JSON.parse(body) as { shortCode: string }).shortCode;

/** Whether a request that was not successful may have been carried out. */
const isDoubtful = (response: SimResponse | undefined): boolean =>
  response === undefined || (response.status === 503 && JSON.parse(response.body).outcome !== 'none');
