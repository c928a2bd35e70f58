/**
 * Whether Safe Browsing lists a URL. The local lists answer nearly always; only when one of them has a prefix of the
 * URL is the server asked for the full hashes, and it gets no more than four bytes.
 *
 * Invariant: `inspect` never rejects. When lists are too old, or the server fails, is slow or asked to wait, the URL
 * counts as not listed, and such checks are counted.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { LabelledCounter } from '../../telemetry/metrics.ts';
import type { CheckResult, UrlChecker } from '../checker-panel.ts';
import type { HashAnswer, SafeBrowsingClient, Threat } from './client.ts';
import { canonicaliseUrl, urlExpressions } from './expressions.ts';
import {
  afterFailure,
  type BackOffState,
  durationMaxMs,
  isBackingOff,
  noBackOff,
  SafeBrowsingFault,
} from './fault.ts';
import { firstFour, fourBytesOf, type ThreatLists } from './lists.ts';

export interface CheckerOptions {
  readonly client: SafeBrowsingClient;
  readonly lists: ThreatLists;
  readonly clock: Clock;
  readonly random: Random;
  readonly onFault: (error: unknown) => void;
}

/** `unknown` distinguishes a check that could not be made from one that found nothing. */
export type Inspection =
  | { readonly verdict: 'listed'; readonly threat: Threat }
  | { readonly verdict: 'clean' | 'unknown' };

/** `stale`: all lists are too old. `waiting`: the server must not be asked now. `failed`: the request failed. */
type Outcome = 'listed' | 'clean' | 'stale' | 'waiting' | 'failed';

/** Concurrent requests for hashes; past it a prefix counts as not listed. */
const hashRequestsMax = 16;

const clean: Inspection = { verdict: 'clean' };
const unknown: Inspection = { verdict: 'unknown' };

export class SafeBrowsingChecker implements UrlChecker {
  readonly name = 'safe_browsing';
  readonly outcomes = new LabelledCounter<Outcome>();
  readonly #options: CheckerOptions;
  readonly #cache = new HashCache();
  /** Requests in flight by their prefixes, so that equal requests share one. */
  readonly #requests = new Map<string, Promise<HashAnswer>>();
  #backOff: BackOffState = noBackOff;

  constructor(options: CheckerOptions) {
    this.#options = options;
  }

  async check(url: string): Promise<CheckResult> {
    const inspection = await this.inspect(url);
    return inspection.verdict === 'listed' ? { listed: true, threat: inspection.threat } : { listed: false };
  }

  async inspect(url: string): Promise<Inspection> {
    const { lists, clock } = this.#options;
    const canonical = canonicaliseUrl(url);
    if (canonical === undefined) return this.#ended('clean');
    if (!lists.isFresh(clock.now())) return this.#ended('stale');

    const unanswered: Uint8Array[] = [];
    for (const expression of urlExpressions(canonical)) {
      const hash = createHash('sha256').update(expression).digest();
      const cached = this.#cache.look(hash, clock.now());
      if (cached?.threat !== undefined) return this.#listed(cached.threat);
      if (cached === undefined && lists.matches(hash, clock.now())) unanswered.push(hash);
    }
    return unanswered.length === 0 ? this.#ended('clean') : this.#ask(unanswered);
  }

  async #ask(hashes: readonly Uint8Array[]): Promise<Inspection> {
    const prefixes = [...new Set(hashes.map(firstFour))].sort((left, right) => left - right);
    const key = prefixes.join(' ');
    if (!this.#requests.has(key) && !this.#mayAsk()) return this.#ended('waiting');
    try {
      const { found } = await (this.#requests.get(key) ?? this.#request(key, prefixes.map(fourBytesOf)));
      const match = found.find(({ hash }) => hashes.some(ours => Buffer.compare(ours, hash) === 0));
      return match === undefined ? this.#ended('clean') : this.#listed(match.threat);
    } catch {
      return this.#ended('failed');
    }
  }

  #mayAsk(): boolean {
    const isWaiting = isBackingOff(this.#backOff, this.#options.clock.now());
    return !isWaiting && this.#requests.size < hashRequestsMax;
  }

  #request(key: string, prefixes: readonly Uint8Array[]): Promise<HashAnswer> {
    const request = this.#exchange(prefixes).finally(() => this.#requests.delete(key));
    this.#requests.set(key, request);
    return request;
  }

  async #exchange(prefixes: readonly Uint8Array[]): Promise<HashAnswer> {
    const { client, clock, random, onFault } = this.#options;
    try {
      const answer = await client.findHashes(prefixes);
      this.#backOff = noBackOff;
      this.#cache.keep(prefixes, answer, clock.now());
      return answer;
    } catch (error) {
      // An error response asks for backoff. Without any response, the request for the next prefix may well succeed.
      if (error instanceof SafeBrowsingFault && error.kind === 'status') {
        this.#backOff = afterFailure(this.#backOff, clock.now(), random);
      }
      onFault(error);
      throw error;
    }
  }

  #listed(threat: Threat): Inspection {
    this.outcomes.add('listed');
    return { verdict: 'listed', threat };
  }

  #ended(outcome: Exclude<Outcome, 'listed'>): Inspection {
    this.outcomes.add(outcome);
    return outcome === 'clean' ? clean : unknown;
  }
}

/**
 * The server's answers about prefixes, for as long as it said: which full hashes are behind a prefix, and that nothing
 * else is; without the latter, one innocent site that shares a prefix with a bad one would be requested again and again.
 * Invariant: no answer is used past its lifetime, and the cache is bounded; past the limit the oldest answers are evicted.
 */
export class HashCache {
  readonly #entriesMax: number;
  /** Threats by full hash, by the prefix that was asked about. */
  readonly #entries = new Map<
    number,
    { readonly until: number; readonly threats: ReadonlyMap<string, Threat> }
  >();

  constructor(entriesMax = 20_000) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Undefined when the server has to be asked. */
  look(hash: Uint8Array, now: number): { readonly threat: Threat | undefined } | undefined {
    const prefix = firstFour(hash);
    const entry = this.#entries.get(prefix);
    if (entry === undefined) return undefined;
    if (now < entry.until) return { threat: entry.threats.get(keyOf(hash)) };
    this.#entries.delete(prefix);
    return undefined;
  }

  /** Caches the answer for each of the requested prefixes. */
  keep(prefixes: readonly Uint8Array[], { found, cacheMs }: HashAnswer, now: number): void {
    const until = now + Math.min(cacheMs, durationMaxMs);
    for (const prefix of prefixes.map(firstFour)) {
      const behind = found.filter(({ hash }) => firstFour(hash) === prefix);
      // Deleted first, so that it becomes the youngest.
      this.#entries.delete(prefix);
      // A hash with several threats is reported with the first one.
      const threats = new Map(behind.reverse().map(({ hash, threat }) => [keyOf(hash), threat]));
      this.#entries.set(prefix, { until, threats });
    }
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#entriesMax) break;
      this.#entries.delete(oldest);
    }
  }
}

const keyOf = (hash: Uint8Array): string => Buffer.from(hash).toString('latin1');
