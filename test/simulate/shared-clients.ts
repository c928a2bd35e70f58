/**
 * The clients of a shared installation: links, aliases, kills, deletions, expiry, click limits, keys. They know only
 * the answers that they got.
 */
import { type LinkHistory, Violation } from './history.ts';
import type { Kernel, Party } from './kernel.ts';
import type { SimResponse } from './process.ts';
import { type Asked, isDoubtful, type KnownKey, type SharedChecks } from './shared-checks.ts';
import { adminKey, processCount, type SharedInstallation } from './shared-installation.ts';

const clientMaxMs = 12_000;
const aliases = ['spring', 'summer', 'autumn', 'winter'];

export class SharedClients {
  readonly #kernel: Kernel;
  readonly #installation: SharedInstallation;
  readonly #checks: SharedChecks;
  readonly #pace: number;
  readonly #keys: KnownKey[] = [];
  operations = 0;
  failed = 0;
  redirects = 0;
  #urls = 0;

  /** `pace`: how many times longer than usual the pauses between requests are. */
  constructor(installation: SharedInstallation, checks: SharedChecks, pace: number) {
    this.#kernel = installation.kernel;
    this.#installation = installation;
    this.#checks = checks;
    this.#pace = pace;
  }

  async run(client: Party, index: number, endMs: number): Promise<void> {
    const kernel = this.#kernel;
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
  ): Promise<Asked> {
    const kernel = this.#kernel;
    const index = kernel.between(0, processCount - 1);
    const process = this.#installation.processes[index]!;
    const by = { process: index, life: process.party.life };
    const askedMs = kernel.nowMs;
    this.operations += 1;
    const isFollow = method === 'GET' && !path.startsWith('/api');
    const request = {
      method,
      path,
      ...(body !== undefined && { body }),
      ...(!isFollow && { key }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    };
    const response = await Promise.race([
      process.request(client, request),
      new Promise<undefined>(resolve => client.after(clientMaxMs, () => resolve(undefined))),
    ]);
    if (response === undefined || response.status >= 500) this.failed += 1;
    if (response?.status === 500) throw new Violation(`${method} ${path} answered 500: ${response.body}`);
    kernel.note(
      `${client.name} ${method} ${path} ${body === undefined ? '' : JSON.stringify(body)} at ${process.party.name} asked ${((askedMs - kernel.startMs) / 1_000).toFixed(3)}: ${response === undefined ? 'no answer' : `${response.status} ${response.location ?? ''}`}`,
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
        const code = codeIn(response);
        this.#checks.made(code, owner, longUrl, askedMs);
        if (idempotencyKey === undefined) return;
        // The URL must have one link, however often the request is repeated.
        this.#checks.madeOnce(longUrl);
        const { response: repeated } = await this.#send(client, 'POST', '/api/v1/links', { longUrl }, keyed);
        if (repeated?.status === 201 && codeIn(repeated) !== code)
          throw new Violation(`${longUrl} was made twice under one key, as ${code} and ${codeIn(repeated)}`);
        return;
      }
      if (attempt === 1) this.#checks.noteRefusal(response, longUrl);
      if (idempotencyKey === undefined || !isDoubtful(response)) return;
    }
  }

  async #createMany(client: Party, owner: number): Promise<void> {
    const urls = [this.#newUrl(), this.#newUrl(), this.#newUrl()];
    const body = { links: urls.map(longUrl => ({ longUrl })) };
    const { response, askedMs } = await this.#send(client, 'POST', '/api/v1/links/bulk', body);
    if (response?.status !== 200) {
      for (const longUrl of urls) this.#checks.noteRefusal(response, longUrl);
      return;
    }
    const { results } = JSON.parse(response.body) as {
      results: { status: number; link?: { shortCode: string } }[];
    };
    for (const [index, { status, link }] of results.entries())
      if (status === 201 && link !== undefined)
        this.#checks.made(link.shortCode, owner, urls[index]!, askedMs);
  }

  /** A link that may be followed a few times: never more often, and never less unless an answer was lost. */
  async #limit(client: Party): Promise<void> {
    const kernel = this.#kernel;
    const maxClicks = 2;
    const longUrl = this.#newUrl();
    const { response } = await this.#send(client, 'POST', '/api/v1/links', { longUrl, maxClicks });
    if (response?.status !== 201) return this.#checks.noteRefusal(response, longUrl);
    const code = codeIn(response);
    const acknowledgedMs = kernel.nowMs;
    let [followed, doubtful] = [0, 0];
    for (let visit = 0; visit < maxClicks + 3; visit += 1) {
      await new Promise<void>(resolve => client.after(kernel.between(1, 400), resolve));
      const { response: answer } = await this.#send(client, 'GET', `/${code}`);
      const isUnknown = answer?.status === 404 && this.#checks.mayBeUnknown({ acknowledgedMs });
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
        this.#checks.made(customAlias, owner, longUrl, askedMs);
        return;
      }
      // A repeat may find the link of an earlier attempt; only a first attempt proves that nothing was done.
      if (attempt === 1) this.#checks.noteRefusal(response, longUrl);
      if (!isDoubtful(response) || kernel.chance(0.3)) return;
    }
  }

  #pickOwn(owner: number): LinkHistory | undefined {
    const own = this.#checks.links.filter(link => link.owner === owner && link.mayChange);
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
    if (status === 200 || status === 204) return link.acknowledge(changed, this.#kernel.nowMs, by);
    const isMissing = status === 410 || (status === 404 && !this.#checks.mayBeUnknown(link));
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
    if (response?.status !== 201) return this.#checks.noteRefusal(response, longUrl);
    this.#checks.made(codeIn(response), owner, longUrl, askedMs, expiresMs);
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
    const secret = { key: key.secret };
    this.#checks.judgeKey(
      key,
      revokedMs,
      await this.#send(client, 'GET', '/api/v1/links?limit=1', undefined, secret),
    );
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
    const { links } = this.#checks;
    if (links.length === 0) return;
    const link = kernel.chance(0.7) ? kernel.pick(links.slice(-8)) : kernel.pick(links);
    const asked = await this.#send(client, 'GET', `/${link.code}`);
    this.redirects += 1;
    if (asked.response !== undefined) this.#checks.judge(link, asked.response, asked);
  }

  /** Follows an alias that may not exist yet, so that its absence is cached when it is claimed. */
  async #followAlias(client: Party): Promise<void> {
    const alias = `${this.#kernel.pick(aliases)}-${this.#kernel.between(0, 30)}`;
    const known = this.#checks.find(alias);
    const asked = await this.#send(client, 'GET', `/${alias}`);
    this.redirects += 1;
    if (asked.response !== undefined && known !== undefined) this.#checks.judge(known, asked.response, asked);
  }
}

const codeIn = ({ body }: SimResponse): string => (JSON.parse(body) as { shortCode: string }).shortCode;
