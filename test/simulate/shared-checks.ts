/** Checks every answer of a shared installation, and its final state, against what clients have seen so far. */
import type { Link } from '../../src/links/link.ts';
import { type Destination, LinkHistory, Violation } from './history.ts';
import type { Party } from './kernel.ts';
import type { SimProcess, SimResponse } from './process.ts';
import type { ProcessLife } from './reach.ts';
import { adminKey, type SharedInstallation } from './shared-installation.ts';

/** The time in which workers rewrite the records of queued links, once Redis and the queue can be reached. */
const restoreMs = 30_000;
/** ADR 21: while the store fails, for how long a copy of a key may be used. */
const keyCopyMs = 3_600;

/** A request that was answered, or not. */
export interface Asked {
  readonly response: SimResponse | undefined;
  readonly by: ProcessLife;
  readonly askedMs: number;
}

/** A created key; during its revocation, and after one without an answer, it may be valid or not. */
export interface KnownKey {
  readonly secret: string;
  readonly id: string;
  revokedMs?: number;
  isDoubtful?: boolean;
}

export class SharedChecks {
  readonly #installation: SharedInstallation;
  readonly #links = new Map<string, LinkHistory>();
  /** URLs of creates that were answered as not done: none of them may exist. */
  readonly #notDone = new Set<string>();
  /** URLs of creates that were repeated under one Idempotency-Key. */
  readonly #madeOnce = new Set<string>();

  constructor(installation: SharedInstallation) {
    this.#installation = installation;
  }

  get links(): readonly LinkHistory[] {
    return [...this.#links.values()];
  }

  find(code: string): LinkHistory | undefined {
    return this.#links.get(code);
  }

  /** Records a created link; `expiresMs` is when it expires. */
  made(code: string, owner: number, longUrl: string, askedMs: number, expiresMs?: number): void {
    if (this.#links.has(code)) throw new Violation(`the code ${code} was given out twice`);
    const acknowledgedMs = this.#installation.kernel.nowMs;
    const times = { askedMs, acknowledgedMs, ...(expiresMs !== undefined && { expiresMs }) };
    this.#links.set(code, new LinkHistory(code, owner, longUrl, times));
  }

  madeOnce(longUrl: string): void {
    this.#madeOnce.add(longUrl);
  }

  noteRefusal(response: SimResponse | undefined, longUrl: string): void {
    if (!isDoubtful(response)) this.#notDone.add(longUrl);
  }

  /**
   * True for a queued link whose record Redis has lost, until a worker rewrites it (docs/operations/queued-writes.md).
   */
  mayBeUnknown({ acknowledgedMs }: Pick<LinkHistory, 'acknowledgedMs'>): boolean {
    const { isQueued, redisLostMs, kernel } = this.#installation;
    return isQueued && acknowledgedMs < redisLostMs && kernel.nowMs < redisLostMs + restoreMs;
  }

  judge(link: LinkHistory, response: SimResponse, { by, askedMs }: Asked): void {
    const { kernel, processes, reach } = this.#installation;
    const { status } = response;
    if (status === 503) return;
    if (status === 404 && this.mayBeUnknown(link)) return;
    if (status === 404) throw new Violation(`${link.code} was acknowledged and answered 404`);
    const destination = destinationOf(link.code, response);
    const answeredMs = kernel.nowMs;
    const { party } = processes[by.process]!;
    const skewMs = party.skewBetween(askedMs, answeredMs);
    const isRight = link.allows({ destination, askedMs, answeredMs, skewMs }, ended =>
      reach.mayBeStale(by, ended.by, ended.atMs, askedMs),
    );
    if (isRight) return;
    const atS = ((askedMs - kernel.startMs) / 1_000).toFixed(3);
    const isExpired = askedMs + skewMs[0] >= link.expiresMs;
    throw new Violation(
      `${link.code} answered ${status} ${destination} at ${party.name}, asked for at ${atS}; it ${isExpired ? 'had expired' : 'was elsewhere'}: ${link.describe(kernel.startMs)}`,
    );
  }

  /** Checks the answer to a request with the key; `revokedMs` is that of the key when the request was sent. */
  judgeKey(key: KnownKey, revokedMs: number | undefined, { response, by, askedMs }: Asked): void {
    const { reach, kernel } = this.#installation;
    if (response?.status === 401 && key.revokedMs === undefined && key.isDoubtful !== true)
      throw new Violation(`the key ${key.id} is valid and was rejected`);
    if (response?.status !== 200 || revokedMs === undefined) return;
    // Immediately while the store answers.
    const boundMs = reach.reachesStore(by, askedMs, kernel.nowMs) ? 0 : keyCopyMs;
    if (askedMs > revokedMs + boundMs)
      throw new Violation(`the key ${key.id} was accepted ${askedMs - revokedMs} ms after it was revoked`);
  }

  /** After healing: every process works, every link leads where it should, and no rejected create made a link. */
  async checkAll(client: Party): Promise<void> {
    const { database, processes } = this.#installation;
    if (this.#links.size === 0) throw new Violation('no link was made in the whole run');
    for (const process of processes) await this.#checkCreate(client, process);
    const stored = await this.#storedUrls();
    for (const longUrl of this.#madeOnce)
      if ((stored.get(longUrl) ?? 0) > 1) throw new Violation(`${longUrl} was made twice under one key`);
    for (const longUrl of this.#notDone)
      if (stored.has(longUrl)) throw new Violation(`${longUrl} was answered as not done, and is stored`);
    for (const link of this.#links.values()) {
      const record = await database.links.find(link.code);
      if (record === undefined) throw new Violation(`${link.code} was acknowledged and is not stored`);
      for (const index of processes.keys()) await this.#checkLink(client, link, record, index);
    }
  }

  async #checkCreate(client: Party, process: SimProcess): Promise<void> {
    const longUrl = `https://last-${process.party.name}.example/`;
    const request = { method: 'POST', path: '/api/v1/links', key: adminKey, body: { longUrl } };
    const response = await process.request(client, request);
    if (response?.status !== 201)
      throw new Violation(`${process.party.name} answers ${response?.status} to a create after healing`);
  }

  /** All processes must now agree with the database, whatever was in doubt. */
  async #checkLink(client: Party, link: LinkHistory, record: Link, index: number): Promise<void> {
    const { kernel, processes } = this.#installation;
    const process = processes[index]!;
    const { name } = process.party;
    const askedMs = kernel.nowMs;
    const response = await process.request(client, { method: 'GET', path: `/${link.code}` });
    if (response === undefined || response.status === 503)
      throw new Violation(`${name} answers ${response?.status} for ${link.code} after healing`);
    this.judge(link, response, { response, by: { process: index, life: process.party.life }, askedMs });
    if (response.status === 404) return;
    const isExpired = record.expiresAt !== null && record.expiresAt <= askedMs;
    const expected = record.status === 'active' && !isExpired ? record.longUrl : 'gone';
    const destination = destinationOf(link.code, response);
    if (destination !== expected)
      throw new Violation(
        `${link.code} leads to ${destination} at ${name} after healing, and is stored as ${expected}`,
      );
  }

  /** The URLs that links lead to, and how many do. */
  async #storedUrls(): Promise<Map<string, number>> {
    const { links } = this.#installation.database;
    const urls = new Map<string, number>();
    let cursor: string | undefined;
    do {
      const page = await links.listByDomain({ domain: 'example', limit: 1_000, cursor });
      for (const { longUrl } of page.links) urls.set(longUrl, (urls.get(longUrl) ?? 0) + 1);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return urls;
  }
}

function destinationOf(code: string, { status, location }: SimResponse): Destination {
  const destination = status === 410 ? 'gone' : location;
  if (destination === undefined) throw new Violation(`${code} answered ${status}`);
  return destination;
}

/** Whether a request that was not successful may have been carried out. */
export const isDoubtful = (response: SimResponse | undefined): boolean =>
  response === undefined || (response.status === 503 && JSON.parse(response.body).outcome !== 'none');
