/**
 * Whether Safe Browsing lists a URL. The local lists answer nearly always; only when one of them has a prefix of the
 * URL is the server asked for what is behind it, and told no more than four bytes.
 *
 * Invariant: `inspect` never rejects. Lists that are too old, a server that fails, is slow or wants to be left alone:
 * the URL counts as not listed, and the count of such checks says so.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { LabelledCounter } from '../../ops/metrics.ts';
import type { CheckResult, UrlChecker } from '../checker.ts';
import type { HashAnswer, SafeBrowsingApi, Threat } from './api.ts';
import { afterFailure, type BackOffState, isBackingOff, noBackOff } from './back-off.ts';
import { canonicaliseUrl } from './canonical-url.ts';
import { urlExpressions } from './expressions.ts';
import { SafeBrowsingFault } from './fault.ts';
import { HashCache } from './hash-cache.ts';
import { durationMaxMs, hashRequestsMax } from './limits.ts';
import type { ThreatLists } from './lists.ts';
import { firstFour, fourBytesOf } from './prefix-list.ts';

export interface CheckerOptions {
  readonly api: SafeBrowsingApi;
  readonly lists: ThreatLists;
  readonly clock: Clock;
  readonly random: Random;
  readonly onFault: (error: unknown) => void;
}

/** `unknown` tells a check that could not be made from one that found nothing. */
export type Inspection =
  | { readonly verdict: 'listed'; readonly threat: Threat }
  | { readonly verdict: 'clean' | 'unknown' };

/** `stale`: no list may be believed. `waiting`: the server is not to be asked now. `failed`: it was, in vain. */
type Outcome = 'listed' | 'clean' | 'stale' | 'waiting' | 'failed';

const clean: Inspection = { verdict: 'clean' };
const unknown: Inspection = { verdict: 'unknown' };

export class SafeBrowsingChecker implements UrlChecker {
  readonly name = 'safe_browsing';
  readonly outcomes = new LabelledCounter<Outcome>();
  readonly #options: CheckerOptions;
  readonly #cache = new HashCache();
  /** Requests under way by the prefixes they ask about, so that equal questions share one. */
  readonly #requests = new Map<string, Promise<HashAnswer>>();
  #backOff: BackOffState = noBackOff;
  #notBefore = 0;

  constructor(options: CheckerOptions) {
    this.#options = options;
  }

  async check(url: string): Promise<CheckResult> {
    const inspection = await this.inspect(url);
    return inspection.verdict === 'listed' ? { listed: true, threat: inspection.threat } : { listed: false };
  }

  async inspect(url: string): Promise<Inspection> {
    const { api, lists, clock } = this.#options;
    const canonical = canonicaliseUrl(url);
    if (canonical === undefined) return this.#ended('clean');
    if (!lists.isFresh(clock.now())) return this.#ended('stale');

    const unanswered: Uint8Array[] = [];
    for (const expression of urlExpressions(canonical, api.hostSuffixes)) {
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
    const now = this.#options.clock.now();
    // A time to wait that is longer than any we believe means that the clock was set back.
    const isTold = now < this.#notBefore && this.#notBefore <= now + durationMaxMs;
    return !isTold && !isBackingOff(this.#backOff, now) && this.#requests.size < hashRequestsMax;
  }

  #request(key: string, prefixes: readonly Uint8Array[]): Promise<HashAnswer> {
    const request = this.#exchange(prefixes).finally(() => this.#requests.delete(key));
    this.#requests.set(key, request);
    return request;
  }

  async #exchange(prefixes: readonly Uint8Array[]): Promise<HashAnswer> {
    const { api, lists, clock, random, onFault } = this.#options;
    try {
      const answer = await api.findHashes(prefixes, lists.all);
      const now = clock.now();
      this.#backOff = noBackOff;
      this.#notBefore = now + Math.min(answer.waitMs, durationMaxMs);
      this.#cache.keep(prefixes, answer, now);
      return answer;
    } catch (error) {
      // An unsuccessful answer asks for peace. Where none came at all, the next prefix that hits may well be lucky.
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
