/**
 * The clients of a chaos run: they create, change, delete and follow links, race for aliases, use and revoke keys and read
 * statistics, at every process, all the time. Every call is recorded in the history with its answer. They use raw
 * connections, because a client that repeats requests by itself would make two visits of one.
 */
import { type Clock, sleep, systemClock } from '../../src/base/clock.ts';
import { inParallel } from '../../src/base/in-parallel.ts';
import type { Random } from '../../src/base/random.ts';
import { BriskClient } from '../kit/brisk-client.ts';
import { adminKey } from '../kit/terse-process.ts';
import { browser } from '../kit/visitors.ts';
import type { Change, Create, KeyOperation, Outcome, Recorder, Visit } from './history.ts';

const connectionsPerProcess = 96;
const answerMaxMs = 10_000;
const hotCount = 40;
const bulkSize = 20;
/** After an acknowledged change, and after a revocation, every process is asked at these times. */
const probesMs = [0, 50, 150, 400, 1_000, 2_000, 3_600, 4_600, 7_000, 12_000];
const pausesMs = { hot: 80, cold: 300, change: 500, race: 1_500, key: 2_000, stats: 700 } as const;
/** How often a call that must succeed is repeated, such as a revocation or a claim in doubt. */
const triesMax = 8;
const repeatMs = 2_000;
const finalAtOnce = 16;
const finalMaxMs = 60_000;
const settledMaxMs = 150_000;
const codesPerQuery = 100;

interface Owner {
  readonly name: string;
  readonly key: string;
}

interface Known {
  readonly code: string;
  readonly owner: Owner;
  isDeleted: boolean;
}

interface Answered {
  readonly process: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: Outcome;
  readonly status?: number | undefined;
  readonly lagMs: number;
}

interface Body {
  readonly answered: Answered;
  readonly location?: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: bodies are looked into freely, and what is not there is undefined.
  readonly json: any;
}

export class Workload {
  readonly #recorder: Recorder;
  readonly #random: Random;
  readonly #clock: Clock = systemClock;
  readonly #clients: readonly BriskClient[];
  readonly #owners: Owner[] = [{ name: 'admin', key: adminKey }];
  readonly #accountIds: string[] = [];
  readonly #known = new Map<string, Known>();
  readonly #codes: string[] = [];
  readonly #hot: Known[] = [];
  /** Aliases whose claims were all in doubt; they may be links. */
  readonly #doubtful = new Map<string, Owner>();
  readonly #open = new Set<Promise<void>>();
  #made = 0;
  #redirects = 0;
  #isOver = false;
  /** End the current rests. */
  readonly #wakes = new Set<() => void>();

  constructor(urls: readonly string[], recorder: Recorder, random: Random) {
    this.#clients = urls.map(url => new BriskClient(url, connectionsPerProcess));
    this.#recorder = recorder;
    this.#random = random;
  }

  /** Accounts and hot links first, while everything works. */
  async start(): Promise<void> {
    for (const name of ['one', 'two']) {
      const account = await this.#insist('/api/v1/accounts', { name, plan: 'unlimited' });
      const { key } = await this.#insist('/api/v1/keys', { name, accountId: account.id });
      this.#owners.push({ name, key });
      this.#accountIds.push(account.id);
    }
    for (let tries = 0; this.#hot.length < hotCount; tries += 1) {
      if (tries > 2 * hotCount) throw new Error('hot links cannot be made');
      const made = await this.#create('create', tries % this.#clients.length, this.#anyOwner());
      if (made !== undefined) this.#hot.push(made);
    }
    for (const process of this.#clients.keys()) {
      this.#loop(pausesMs.hot, () => this.#visit('hot', process, this.#among(this.#hot).code));
      this.#loop(pausesMs.hot, () => this.#visit('hot', process, this.#among(this.#hot).code));
      this.#loop(pausesMs.cold, () => this.#visitCold(process));
      this.#loop(pausesMs.change, () => this.#changeSomething(process));
    }
    this.#loop(pausesMs.race, () => this.#race());
    this.#loop(pausesMs.key, () => this.#useKey());
    this.#loop(pausesMs.stats, async () => this.#readStats(this.#anyProcess(), this.#among(this.#hot)));
  }

  /** Starts no new calls; returns when every call was answered or timed out. */
  async stop(): Promise<void> {
    this.#isOver = true;
    for (const wake of this.#wakes) wake();
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  /** Follows every link that may exist, then reads the statistics once all clicks are counted. */
  async readAtEnd(): Promise<void> {
    const codes = [...this.#known.keys(), ...this.#doubtful.keys()];
    await inParallel(codes.length, finalAtOnce, async index => {
      const untilMs = this.#recorder.nowMs + finalMaxMs;
      while (this.#recorder.nowMs < untilMs) {
        const { status = 503 } = await this.#visit('final', index % this.#clients.length, codes[index]!);
        if (status !== 503) return;
        await sleep(this.#clock, 500);
      }
    });
    await this.#untilSettled();
    for (const owner of this.#owners) {
      const own = [...this.#known.values()].filter(link => link.owner === owner && !link.isDeleted);
      for (let from = 0; from < own.length; from += codesPerQuery)
        await this.#readTotals(owner, own.slice(from, from + codesPerQuery));
    }
    for (const client of this.#clients) client.close();
  }

  async #untilSettled(): Promise<void> {
    const untilMs = this.#recorder.nowMs + settledMaxMs;
    let [lost, counted] = [0, 0];
    for (let isSettled = false; !isSettled && this.#recorder.nowMs < untilMs; ) {
      const { json } = await this.#call(0, 'GET', '/api/v1/reconcile', {});
      counted = 0;
      for (const { key } of this.#owners) {
        const { json: sums } = await this.#call(0, 'GET', '/api/v1/stats', { key });
        counted += (sums.totalClicks ?? 0) + (sums.botClicks ?? 0);
      }
      const { dropped = 0, missing = 0, pending = 1 } = json.totals ?? {};
      lost = dropped + missing;
      isSettled = pending === 0 && counted + lost >= this.#redirects;
      if (!isSettled) await sleep(this.#clock, 1_000);
    }
    this.#recorder.add({ type: 'clicks', lost, counted });
  }

  async #readTotals({ key }: Owner, links: readonly Known[]): Promise<void> {
    const path = `/api/v1/stats/links?codes=${links.map(({ code }) => code).join(',')}`;
    const { answered, json } = await this.#call(0, 'GET', path, { key });
    const found = (json.links ?? []) as { shortCode: string; clicks: number; botClicks: number }[];
    for (const { shortCode: code, clicks, botClicks } of found)
      this.#recorder.add({
        type: 'operation',
        kind: 'final-stats',
        ...answered,
        code,
        clicks: clicks + botClicks,
      });
  }

  #loop(pauseMs: number, act: () => Promise<unknown>): void {
    this.#begin(async () => {
      await sleep(this.#clock, this.#random.float() * pauseMs);
      while (!this.#isOver) {
        await act();
        await this.#rest(pauseMs);
      }
    });
  }

  /** Ends early when the run is over. */
  async #rest(restMs: number): Promise<void> {
    const { promise, resolve: wake } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(restMs, wake);
    this.#wakes.add(wake);
    await promise;
    cancel();
    this.#wakes.delete(wake);
  }

  #begin(work: () => Promise<unknown>): void {
    const working: Promise<void> = work().then(() => void this.#open.delete(working));
    this.#open.add(working);
  }

  async #changeSomething(process: number): Promise<void> {
    const owner = this.#anyOwner();
    const chance = this.#random.float();
    if (chance < 0.3) return void (await this.#create('create', process, owner));
    if (chance < 0.4) return this.#claim(process, owner, this.#newAlias(), this.#newUrl());
    if (chance < 0.43) return this.#createMany(process, owner);
    if (chance < 0.5) return this.#followExpiring(process, owner);
    if (chance < 0.55) return this.#followLimited(process, owner);
    // Not awaited: a change is watched for longer than it takes until the next one.
    if (chance < 0.65) return this.#begin(() => this.#change(process, 'edit', this.#among(this.#hot)));
    const victim = await this.#warmVictim(process, owner);
    if (victim === undefined) return;
    const kind = chance < 0.77 ? 'edit' : chance < 0.9 ? 'disable' : 'delete';
    this.#begin(async () => {
      await this.#change(process, kind, victim);
      if (kind === 'disable' && !this.#isOver && this.#random.float() < 0.4)
        await this.#change(this.#anyProcess(), 'enable', victim);
    });
  }

  /** A link that every process has been asked for. */
  async #warmVictim(process: number, owner: Owner): Promise<Known | undefined> {
    const victim = await this.#create('create', process, owner);
    if (victim === undefined) return undefined;
    await Promise.all([...this.#clients.keys()].map(each => this.#visit('cold', each, victim.code)));
    return victim;
  }

  async #create(
    kind: 'create',
    process: number,
    owner: Owner,
    more: Partial<Create> = {},
  ): Promise<Known | undefined> {
    const { expiresAtMs, maxClicks } = more;
    const longUrl = this.#newUrl();
    const body = {
      longUrl,
      ...(expiresAtMs !== undefined && { expiresAt: new Date(expiresAtMs).toISOString() }),
      ...(maxClicks !== undefined && { maxClicks }),
    };
    const { answered, json } = await this.#call(process, 'POST', '/api/v1/links', { key: owner.key, body });
    const code = answered.outcome === 'ok' ? (json.shortCode as string) : undefined;
    this.#recorder.add({ type: 'operation', kind, ...answered, ...more, owner: owner.name, longUrl, code });
    return code === undefined ? undefined : this.#know(code, owner);
  }

  async #createMany(process: number, owner: Owner): Promise<void> {
    const links = Array.from({ length: bulkSize }, () => ({ longUrl: this.#newUrl() }));
    const { answered, json } = await this.#call(process, 'POST', '/api/v1/links/bulk', {
      key: owner.key,
      body: { links },
    });
    for (const [index, { longUrl }] of links.entries()) {
      const result = json.results?.[index] as
        | { status: number; link?: { shortCode: string }; outcome?: string }
        | undefined;
      const code = result?.link?.shortCode;
      const outcome = code !== undefined ? 'ok' : answered.outcome === 'ok' ? 'unknown' : answered.outcome;
      const status = result?.status ?? answered.status;
      this.#recorder.add({
        type: 'operation',
        kind: 'bulk',
        ...answered,
        status,
        outcome,
        owner: owner.name,
        longUrl,
        code,
      });
      if (code !== undefined) this.#know(code, owner);
    }
  }

  /** One alias for each; repeated by the same owner while the outcome is unknown. */
  async #claim(process: number, owner: Owner, alias: string, longUrl: string): Promise<void> {
    for (let tries = 0; tries < triesMax; tries += 1) {
      const { answered, json } = await this.#call(process, 'POST', '/api/v1/links', {
        key: owner.key,
        body: { longUrl, customAlias: alias },
      });
      const code = answered.outcome === 'ok' ? (json.shortCode as string) : undefined;
      this.#recorder.add({
        type: 'operation',
        kind: 'alias',
        ...answered,
        owner: owner.name,
        longUrl,
        alias,
        code,
      });
      if (code !== undefined) this.#know(code, owner);
      if (answered.outcome !== 'unknown') return;
      if (!this.#known.has(alias)) this.#doubtful.set(alias, owner);
      await sleep(this.#clock, repeatMs);
    }
  }

  /** Every process gets a claim of the same alias by another owner, and one a repeat of the same claim. */
  async #race(): Promise<void> {
    const alias = this.#newAlias();
    const urls = this.#owners.map(() => this.#newUrl());
    const claims = [...this.#clients.keys(), this.#anyProcess()].map((process, n) => {
      const place = n % this.#owners.length;
      return this.#claim(process, this.#owners[place]!, alias, urls[place]!);
    });
    await Promise.all(claims);
  }

  /** Visitors come to every process until after it has expired. */
  async #followExpiring(process: number, owner: Owner): Promise<void> {
    const lastsMs = 2_000 + Math.round(this.#random.float() * 6_000);
    const made = await this.#create('create', process, owner, { expiresAtMs: Date.now() + lastsMs });
    if (made === undefined) return;
    this.#begin(() =>
      this.#askEveryProcess([200, lastsMs - 500, lastsMs + 200, lastsMs + 1_200, lastsMs + 3_000], each =>
        this.#visit('expiring', each, made.code),
      ),
    );
  }

  /** More visitors than it allows come to every process at once. */
  async #followLimited(process: number, owner: Owner): Promise<void> {
    const made = await this.#create('create', process, owner, { maxClicks: 4 });
    if (made === undefined) return;
    this.#begin(() =>
      this.#askEveryProcess([0, 0, 100, 500], each => this.#visit('limited', each, made.code)),
    );
  }

  async #change(process: number, kind: Change['kind'], link: Known): Promise<void> {
    const path = `/api/v1/links/${link.code}`;
    const { key } = link.owner;
    const longUrl = kind === 'edit' ? this.#newUrl() : undefined;
    const body = kind === 'edit' ? { longUrl } : { status: kind === 'disable' ? 'disabled' : 'active' };
    // Before the call, because the outcome may be unknown.
    if (kind === 'delete') link.isDeleted = true;
    const { answered } =
      kind === 'delete'
        ? await this.#call(process, 'DELETE', path, { key })
        : await this.#call(process, 'PATCH', path, { key, body });
    this.#recorder.add({ type: 'operation', kind, ...answered, code: link.code, longUrl });
    await this.#askEveryProcess(probesMs, each => this.#visit('killed', each, link.code));
  }

  /** A key is made, used everywhere, revoked, and tried again. */
  async #useKey(): Promise<void> {
    const made = await this.#call(this.#anyProcess(), 'POST', '/api/v1/keys', {
      body: { name: 'for a while', accountId: this.#among(this.#accountIds) },
    });
    const keyId = made.json.id as string | undefined;
    const key = made.json.key as string | undefined;
    const note = (kind: KeyOperation['kind'], answered: Answered): void =>
      this.#recorder.add({ type: 'operation', kind, ...answered, keyId });
    note('create-key', made.answered);
    if (keyId === undefined || key === undefined) return;
    const use = async (process: number): Promise<void> =>
      note('use-key', (await this.#call(process, 'GET', '/api/v1/account', { key })).answered);
    this.#begin(async () => {
      await this.#askEveryProcess([0, 1_000], use);
      for (let tries = 0; tries < triesMax; tries += 1) {
        const revoking = await this.#call(this.#anyProcess(), 'DELETE', `/api/v1/keys/${keyId}`, {});
        note('revoke-key', revoking.answered);
        if (revoking.answered.outcome === 'ok') break;
        await sleep(this.#clock, repeatMs);
      }
      await this.#askEveryProcess(probesMs, use);
    });
  }

  async #readStats(process: number, { code, owner }: Known): Promise<void> {
    const { answered, json } = await this.#call(process, 'GET', `/api/v1/links/${code}/stats`, {
      key: owner.key,
    });
    const clicks = answered.outcome === 'ok' ? json.totalClicks + json.botClicks : undefined;
    this.#recorder.add({ type: 'operation', kind: 'stats', ...answered, code, clicks });
  }

  async #visitCold(process: number): Promise<void> {
    if (this.#random.float() < 0.2) {
      const code = Array.from({ length: 7 }, () =>
        this.#among([...'0123456789abcdefghijklmnopqrstuvwxyz']),
      ).join('');
      await this.#visit('never-issued', process, code);
      return;
    }
    await this.#visit('cold', process, this.#among(this.#codes));
  }

  async #visit(kind: Visit['kind'], process: number, code: string): Promise<Answered> {
    const { answered, location, json } = await this.#call(process, 'GET', `/${code}`, { key: undefined });
    const reason = answered.outcome === 'ok' ? undefined : (json.code as string | undefined);
    if (location !== undefined) this.#redirects += 1;
    this.#recorder.add({ type: 'operation', kind, ...answered, code, location, reason });
    return answered;
  }

  /** Asks each process at these times after now, until the run is over, and returns when all were answered. */
  async #askEveryProcess(
    timesMs: readonly number[],
    ask: (process: number) => Promise<unknown>,
  ): Promise<void> {
    const startedMs = this.#recorder.nowMs;
    const asked: Promise<unknown>[] = [];
    for (const timeMs of timesMs) {
      await this.#rest(Math.max(0, startedMs + timeMs - this.#recorder.nowMs));
      if (this.#isOver) break;
      asked.push(...[...this.#clients.keys()].map(ask));
    }
    await Promise.all(asked);
  }

  /** The answer to a create of the admin, which is repeated on an overloaded machine. */
  async #insist(path: string, body: unknown): Promise<Body['json']> {
    for (let tries = 0; tries < triesMax; tries += 1) {
      const { answered, json } = await this.#call(0, 'POST', path, { body });
      if (answered.outcome === 'ok') return json;
      await sleep(this.#clock, repeatMs);
    }
    throw new Error(`${path} does not work`);
  }

  async #call(
    process: number,
    method: string,
    path: string,
    options: { readonly key?: string | undefined; readonly body?: unknown },
  ): Promise<Body> {
    const key = 'key' in options ? options.key : adminKey;
    const isVisit = key === undefined;
    const head = [
      `${method} ${path} HTTP/1.1`,
      `User-Agent: ${browser['User-Agent']}`,
      'Accept: application/json',
      ...(isVisit ? [] : [`Authorization: Bearer ${key}`]),
      ...(options.body === undefined ? [] : ['Content-Type: application/json']),
    ];
    const startMs = this.#recorder.nowMs;
    const late = Promise.withResolvers<undefined>();
    const cancel = this.#clock.after(answerMaxMs, () => late.resolve(undefined));
    const asking = this.#clients[process]!.call(
      head,
      options.body === undefined ? '' : JSON.stringify(options.body),
    );
    const answer = await Promise.race([asking.catch(() => undefined), late.promise]);
    cancel();
    const json = jsonIn(answer?.body);
    const outcome = outcomeOf(answer?.status, method === 'GET' ? 'none' : json.outcome);
    const endMs = this.#recorder.nowMs;
    const lagMs = this.#recorder.lagSince(startMs);
    return {
      answered: { process, startMs, endMs, outcome, status: answer?.status, lagMs },
      location: isVisit && answer?.status === 302 ? (answer.location ?? undefined) : undefined,
      json,
    };
  }

  #know(code: string, owner: Owner): Known {
    const known = this.#known.get(code);
    if (known !== undefined) return known;
    const made = { code, owner, isDeleted: false };
    this.#known.set(code, made);
    this.#codes.push(code);
    this.#doubtful.delete(code);
    return made;
  }

  #newUrl(): string {
    this.#made += 1;
    return `https://example.com/${this.#made}`;
  }

  #newAlias(): string {
    this.#made += 1;
    return `chaos-${this.#made}`;
  }

  #among<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random.float() * items.length)]!;
  }

  #anyOwner(): Owner {
    return this.#among(this.#owners);
  }

  #anyProcess(): number {
    return Math.floor(this.#random.float() * this.#clients.length);
  }
}

function outcomeOf(status: number | undefined, said: string | undefined): Outcome {
  if (status === undefined) return 'unknown';
  if (status < 400) return 'ok';
  if (status < 500) return 'failed';
  return status === 503 && said === 'none' ? 'failed' : 'unknown';
}

// biome-ignore lint/suspicious/noExplicitAny: bodies are looked into freely, and what is not there is undefined.
function jsonIn(body: string | undefined): any {
  try {
    return body === undefined ? {} : (JSON.parse(body) ?? {});
  } catch {
    return {};
  }
}
