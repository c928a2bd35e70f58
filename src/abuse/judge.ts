/**
 * The verdict on a destination: allowed, quarantined, blocked, or rejected outright. The order is from certain to
 * likely: a list that names it, a checker that lists it, then its risk score. Certainty rejects the link; likelihood
 * lets it exist behind a warning, or blocked, until a moderator has reviewed it.
 */
import type { Actor } from '../accounts/account.ts';
import type { Clock } from '../base/clock.ts';
import { LabelledCounter } from '../telemetry/metrics.ts';
import type { MatchUrl } from './blocklist.ts';
import type { CheckerPanel } from './checker-panel.ts';
import type { DomainAge } from './domain-ages.ts';
import { partsOf } from './hosts.ts';
import { type RiskPolicy, type RiskReason, riskOf } from './risk.ts';
import type { Circumstances } from './risk-signals.ts';

export type { RiskReason } from './risk.ts';

export interface UrlToJudge {
  /** Serialised and accepted by the URL policy. */
  readonly url: string;
  readonly maker: Maker;
}

/** Whose call it is. The same object for all links of a call: what is known about it is looked up once. */
export interface Maker {
  readonly actor: Actor;
  /** The caller's address; undefined where there is none, as for the system's own work. */
  readonly address: string | undefined;
  /** How many links the call makes or changes. */
  readonly items: number;
  /** A change counts once towards the velocity of its account and address, however many links it is of. */
  readonly isChange?: boolean;
}

export interface UrlJudgement {
  readonly verdict: 'allow' | 'quarantine' | 'block' | 'refuse';
  readonly score: number;
  readonly reasons: readonly RiskReason[];
  /** Why the link is rejected: the kind of source, and a sentence for the client. */
  readonly refusal?: { readonly type: string; readonly detail: string };
}

export type JudgeUrl = (input: UrlToJudge) => Promise<UrlJudgement> | UrlJudgement;

/** The scores above which a link is quarantined or blocked. */
export interface RiskThresholds {
  readonly quarantine: number;
  readonly block: number;
}

export const defaultThresholds: RiskThresholds = { quarantine: 60, block: 85 };

export interface JudgeOptions {
  readonly matchUrl: MatchUrl;
  readonly panel: CheckerPanel;
  /** Called each time, because its file may have changed. */
  readonly riskPolicy: () => RiskPolicy;
  readonly thresholds: RiskThresholds;
  /** The feed of ages, if one is configured. Called each time, because its file may have changed. */
  readonly domainAge: () => DomainAge | undefined;
  readonly velocity: Velocity;
  readonly usualCountries: UsualCountries;
  /** Two letters of ISO 3166; undefined when not known. */
  readonly countryOf: (address: string) => string | undefined;
  /** Maps all addresses of one customer to one text. */
  readonly addressGroup: (address: string) => string;
  readonly clock: Clock;
}

export interface Judge {
  readonly judgeUrl: JudgeUrl;
  /** Links that were rejected, blocked or quarantined, by cause. */
  readonly attempts: LabelledCounter<string>;
}

const harmless: UrlJudgement = { verdict: 'allow', score: 0, reasons: [] };

/** Allows every URL, for tests that are not about judging. */
export const allowEveryUrl: JudgeUrl = () => harmless;

export function createJudge(options: JudgeOptions): Judge {
  const { matchUrl, panel, riskPolicy, thresholds } = options;
  const attempts = new LabelledCounter<string>();
  const knownMakers = new WeakMap<Maker, Circumstances>();
  let lastReasons: readonly RiskReason[] = [];

  function circumstancesOf({ url, maker }: UrlToJudge): Circumstances {
    const known = knownMakers.get(maker) ?? aboutMaker(maker, options);
    knownMakers.set(maker, known);
    const age = options.domainAge();
    if (age === undefined) return known;
    return { ...known, domainAgeDays: age(partsOf(new URL(url).hostname).domain, options.clock.now()) };
  }

  function refuse(type: string, detail: string): UrlJudgement {
    attempts.add(type);
    return { ...harmless, verdict: 'refuse', refusal: { type, detail } };
  }

  function weigh({ url }: UrlToJudge, circumstances: Circumstances): UrlJudgement {
    const { score, reasons: found } = riskOf(url, circumstances, riskPolicy());
    // The links of a call are mostly found alike: then they share the reasons, and what is made of them.
    const reasons = areAlike(found, lastReasons) ? lastReasons : found;
    lastReasons = reasons;
    if (score > thresholds.block) {
      attempts.add('blocked');
      return { verdict: 'block', score, reasons };
    }
    if (score > thresholds.quarantine) {
      attempts.add('quarantined');
      return { verdict: 'quarantine', score, reasons };
    }
    return reasons.length === 0 ? harmless : { verdict: 'allow', score, reasons };
  }

  async function askPanel(input: UrlToJudge, circumstances: Circumstances): Promise<UrlJudgement> {
    const listing = await panel.ask(input.url);
    if (listing === undefined) return weigh(input, circumstances);
    const threat = listing.threat === undefined ? 'dangerous' : `dangerous (${listing.threat})`;
    return refuse(listing.checker, `The destination is listed as ${threat} by ${listing.checker}.`);
  }

  return {
    attempts,
    judgeUrl(input) {
      // Rejected attempts count towards the velocity too: trying many names is what makes it suspicious.
      const circumstances = circumstancesOf(input);
      const match = matchUrl(input.url);
      if (match !== undefined) {
        return refuse('blocklist', `The destination is on the blocklist “${match.list}” as ${match.entry}.`);
      }
      return panel.isEmpty ? weigh(input, circumstances) : askPanel(input, circumstances);
    },
  };
}

function areAlike(some: readonly RiskReason[], others: readonly RiskReason[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ signal, weight, detail }, place) => {
      const other = others[place]!;
      return signal === other.signal && weight === other.weight && detail === other.detail;
    })
  );
}

/** The links of a call count all at once: it is as fast at its first as at its last. */
function aboutMaker({ actor, address, items, isChange }: Maker, options: JudgeOptions): Circumstances {
  const { velocity, usualCountries, countryOf, addressGroup } = options;
  const accountId = actor.kind === 'account' ? actor.accountId : undefined;
  const country = address === undefined ? undefined : countryOf(address);
  const noted = isChange === true ? 1 : items;
  const byAccount = accountId === undefined ? 0 : velocity.note(`account ${accountId}`, noted);
  const byAddress = address === undefined ? 0 : velocity.note(`address ${addressGroup(address)}`, noted);
  return {
    createdLastHour: Math.max(byAccount, byAddress, items),
    usualCountry:
      accountId === undefined || country === undefined
        ? undefined
        : usualCountries.note(accountId, country, noted),
    country,
  };
}

const hourParts = 12;
const partMs = 5 * 60 * 1_000;

interface Counts {
  readonly perPart: Uint32Array;
  /** The part that was written last; later parts are empty. */
  lastPart: number;
}

/**
 * How many links an account, or an address, has made within the last hour, in twelve parts of five minutes. Counts only
 * what this process sees, in bounded memory, and starts empty.
 */
export class Velocity {
  readonly #clock: Clock;
  readonly #keysMax: number;
  /** Least recently used first. */
  readonly #counts = new Map<string, Counts>();

  constructor(clock: Clock, keysMax = 50_000) {
    this.#clock = clock;
    this.#keysMax = keysMax;
  }

  get size(): number {
    return this.#counts.size;
  }

  /** Counts links and returns how many there have been within the hour, these included. */
  note(key: string, links = 1): number {
    const part = Math.floor(this.#clock.monotonicMs() / partMs);
    const counts = this.#counts.get(key) ?? { perPart: new Uint32Array(hourParts), lastPart: part };
    const emptied = Math.min(hourParts, part - counts.lastPart);
    for (let back = 0; back < emptied; back += 1) counts.perPart[(part - back) % hourParts] = 0;
    counts.lastPart = part;
    counts.perPart[part % hourParts]! += links;
    this.#counts.delete(key);
    this.#counts.set(key, counts);
    if (this.#counts.size > this.#keysMax) this.#counts.delete(this.#counts.keys().next().value!);
    return counts.perPart.reduce((sum, count) => sum + count, 0);
  }
}

interface Seen {
  usual: string;
  /** How far the usual country is ahead of all others together. */
  lead: number;
}

const leadMin = 5;
const leadMax = 100;

/**
 * The country in which each account usually creates links: most of its links, and at least five. Anonymous clients have
 * none. It is a hint worth ten points, not a record of anyone's travels.
 */
export class UsualCountries {
  readonly #accountsMax: number;
  readonly #seen = new Map<string, Seen>();

  constructor(accountsMax = 50_000) {
    this.#accountsMax = accountsMax;
  }

  get size(): number {
    return this.#seen.size;
  }

  /** The usual country before these links, if there is one; then they count too. */
  note(accountId: string, country: string, links = 1): string | undefined {
    const seen = this.#seen.get(accountId) ?? { usual: country, lead: 0 };
    const usual = seen.lead >= leadMin ? seen.usual : undefined;
    if (seen.usual === country) seen.lead = Math.min(leadMax, seen.lead + links);
    else if (seen.lead >= links) seen.lead -= links;
    else [seen.usual, seen.lead] = [country, Math.min(leadMax, links - seen.lead)];
    this.#seen.delete(accountId);
    this.#seen.set(accountId, seen);
    if (this.#seen.size > this.#accountsMax) this.#seen.delete(this.#seen.keys().next().value!);
    return usual;
  }
}
