/**
 * Links that a few clients create, edit and delete all the time, with a ledger of the answers: for every link, what a
 * visitor must get from then on.
 */
import { violation } from '../../scripts/test-report.ts';
import { inParallel } from '../../src/base/in-parallel.ts';
import type { Random } from '../../src/base/random.ts';
import { callerOf } from './client.ts';
import { follow, type Visit } from './follow.ts';

interface Known {
  readonly longUrl: string;
  readonly redirectType: number;
  readonly status: 'active' | 'deleted';
}

const bulkSize = 10_000;
const visitorsAtOnce = 16;
const attemptsMax = 20;
const busyPauseMs = 500;
const redirectTypes = [301, 302, 307, 308];

export class ChangingLinks {
  readonly known = new Map<string, Known>();
  readonly faults: string[] = [];
  changes = 0;
  readonly #codes: string[] = [];
  readonly #busy = new Set<string>();
  #made = 0;
  #isOver = false;
  #clients: Promise<void>[] = [];
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Creates the first links in bulk. */
  async fill(url: string, count: number): Promise<void> {
    while (this.#made < count) {
      const size = Math.min(bulkSize, count - this.#made);
      const links = Array.from({ length: size }, () => this.#newLink());
      const { status, body } = await callerOf(url)('POST', '/api/v1/links/bulk', { body: { links } });
      if (status !== 200) throw new Error(`bulk: ${status} ${JSON.stringify(body).slice(0, 200)}`);
      for (const [index, result] of (
        body.results as { status: number; link?: { shortCode: string } }[]
      ).entries()) {
        const code = result.link?.shortCode;
        if (code === undefined) this.faults.push(`bulk item ${index}: ${result.status}`);
        else this.#note(code, { ...links[index]!, status: 'active' });
      }
    }
  }

  start(url: string, clients: number, pauseMs: number): void {
    this.#isOver = false;
    this.#clients = Array.from({ length: clients }, async () => {
      while (!this.#isOver) {
        await this.#changeSomething(url);
        await Bun.sleep(pauseMs);
      }
    });
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  /** Wrong answers that visitors get; follows a sample of very many links. */
  async lostAt(url: string, followedMax: number): Promise<string[]> {
    const all = [...this.known];
    const step = Math.max(1, Math.ceil(all.length / followedMax));
    const followed = all.filter((_, index) => index % step === 0 || index >= all.length - followedMax / 2);
    const lost: string[] = [];
    await inParallel(followed.length, visitorsAtOnce, async index => {
      const [code, { longUrl, redirectType, status }] = followed[index]!;
      const visit = await patientVisit(url, code);
      const isRight =
        status === 'deleted'
          ? visit.status === 410
          : visit.status === redirectType && visit.location === longUrl;
      if (!isRight)
        lost.push(`${code}: ${visit.status} ${visit.location}, not ${status} ${redirectType} ${longUrl}`);
    });
    return lost.slice(0, 10);
  }

  /** A new link whose code was never issued before. */
  async makeAnother(url: string, key?: string): Promise<void> {
    const link = this.#newLink();
    const { status, body } = await callerOf(url)('POST', '/api/v1/links', {
      body: link,
      ...(key && { key }),
    });
    if (status !== 201) this.faults.push(`create: ${status} ${body.code}`);
    else this.#note(body.shortCode, { ...link, status: 'active' });
  }

  async #changeSomething(url: string): Promise<void> {
    const chance = this.#random.float();
    const code = this.#codes[Math.floor(this.#random.float() * this.#codes.length)];
    const known = code === undefined ? undefined : this.known.get(code);
    const isFree = code !== undefined && known?.status === 'active' && !this.#busy.has(code);
    if (chance < 0.5 || !isFree) return this.makeAnother(url);
    // One change at a time: a client could not know which of two concurrent changes came last.
    this.#busy.add(code);
    const path = `/api/v1/links/${code}`;
    if (chance < 0.8) {
      const { longUrl, redirectType } = this.#newLink();
      const { status } = await callerOf(url)('PATCH', path, { body: { longUrl, redirectType } });
      if (status === 200) this.#change(code, { longUrl, redirectType, status: 'active' });
      else this.#doubt(code, status);
    } else {
      const { status } = await callerOf(url)('DELETE', path);
      if (status === 204) this.#change(code, { ...known, status: 'deleted' });
      else this.#doubt(code, status);
    }
    this.#busy.delete(code);
  }

  #newLink() {
    this.#made += 1;
    const redirectType = redirectTypes[this.#made % redirectTypes.length]!;
    return {
      longUrl: `https://example.com/moved/${this.#made}`,
      redirectType,
      tags: [`tag${this.#made % 7}`],
    };
  }

  #note(code: string, known: Known): void {
    if (this.known.has(code)) this.faults.push(`${violation} ${code} was issued twice`);
    else this.#codes.push(code);
    this.#change(code, known);
  }

  /**
   * A store that was too busy to answer may still have made the change: no client got an answer, so the outcome is
   * unknown.
   */
  #doubt(code: string, status: number): void {
    if (status === 503) this.known.delete(code);
    else this.faults.push(`change of ${code}: ${status}`);
  }

  #change(code: string, known: Known): void {
    this.changes += 1;
    this.known.set(code, known);
  }
}

/** Retries a 503: a store that is busy has lost nothing. */
async function patientVisit(url: string, code: string): Promise<Visit> {
  for (let attempt = 1; ; attempt += 1) {
    const visit = await follow(url, code);
    if (visit.status !== 503 || attempt === attemptsMax) return visit;
    await Bun.sleep(busyPauseMs);
  }
}
