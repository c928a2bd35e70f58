/**
 * All risk signals of a URL, in one table: what each adds to the score, what it means, and how it is detected. A signal
 * is a pure function that returns what it found, as text for a moderator, or undefined. None of them decides alone
 * unless its weight passes a threshold; operators change weights with a risk file (docs/abuse.md is generated from this
 * table).
 */
import { isWholeDisguise, oddMixture, shownHost } from './homograph.ts';
import { type HostParts, partsOf } from './hosts.ts';
import {
  type Disguise,
  foreignBrandIn,
  freeHosts,
  hostWords,
  type Impersonation,
  impersonationIn,
  isEverydayName,
  pathWords,
  shortenerHosts,
  suspiciousSuffixes,
} from './impersonation.ts';

export interface RiskSignal {
  readonly weight: number;
  readonly doc: string;
  /** Whether it depends on the host alone: then it is computed once for all links to it. */
  readonly isOfHost?: true;
  readonly find: (subject: RiskSubject) => string | undefined;
}

/** Starts at a word boundary, so that a long word is not tried again from each of its letters. */
const emailAddress = /(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w-]/;

export const newDomainDays = 7;
export const velocityMax = 50;
const dotsMax = 4;
const hyphensMax = 2;
const escapedLettersMin = 3;

export const riskSignals = {
  newDomain: {
    weight: 30,
    doc: `The domain was registered less than ${newDomainDays} days ago, by the operator's feed.`,
    find: ({ circumstances: { domainAgeDays } }) =>
      domainAgeDays !== undefined && domainAgeDays < newDomainDays
        ? `registered ${domainAgeDays} ${domainAgeDays === 1 ? 'day' : 'days'} ago`
        : undefined,
  },
  phishingWords: {
    weight: 20,
    doc: 'The path or host has words about credentials: login, password, verify and the like, in several languages.',
    find: ({ wordsInPath, wordsInHost }) =>
      wordsInPath.length + wordsInHost.length === 0 ? undefined : listed([...wordsInPath, ...wordsInHost]),
  },
  wordyDomain: {
    weight: 25,
    isOfHost: true,
    doc: 'The registered name itself consists of such words: `secure-login-update`.',
    find: ({ parts: { label } }) =>
      label.includes('-') || (label.match(hostWords)?.length ?? 0) > 1
        ? listed(label.match(hostWords) ?? [])
        : undefined,
  },
  lookalikeName: {
    weight: 65,
    isOfHost: true,
    doc: 'The host looks like a well-known name without being it: `paypa1`, `rnicrosoft`, Cyrillic `аррӏе`.',
    find: disguisedAs('lookalike'),
  },
  mixedScripts: {
    weight: 65,
    isOfHost: true,
    doc: 'A label of the host mixes scripts that no language mixes, such as Latin and Cyrillic.',
    find: ({ shownLabels }) => {
      const mixture = shownLabels.map(oddMixture).find(found => found !== undefined);
      return mixture?.join(' and ');
    },
  },
  foreignLetters: {
    weight: 30,
    isOfHost: true,
    doc: 'A label under a Latin suffix consists only of foreign letters that look Latin.',
    find: ({ parts, shownLabels }) =>
      /^[a-z.]*$/.test(parts.suffix) ? shownLabels.find(isWholeDisguise) : undefined,
  },
  brandDomainInHost: {
    weight: 50,
    isOfHost: true,
    doc: "A well-known domain stands in front of somebody else's: `paypal.com.example.net`.",
    find: disguisedAs('domainInHost'),
  },
  brandTypo: {
    weight: 45,
    isOfHost: true,
    doc: 'The host differs by one letter from a well-known name: `paypall`, `gogle`.',
    find: disguisedAs('typo'),
  },
  brandInDomain: {
    weight: 45,
    isOfHost: true,
    doc: 'Somebody else registered a name that contains a well-known one: `paypal-help`.',
    find: disguisedAs('nameInDomain'),
  },
  brandInSubdomain: {
    weight: 30,
    isOfHost: true,
    doc: "A well-known name stands in front of somebody else's domain: `paypal.example.net`.",
    find: disguisedAs('nameInSubdomain'),
  },
  brandInPath: {
    weight: 15,
    doc: "A well-known name stands beside words about credentials in the path of somebody else's site.",
    find(subject) {
      if (subject.wordsInPath.length === 0) return undefined;
      const { brandInPath } = subject;
      return brandInPath === undefined || isEverydayName(brandInPath) ? undefined : brandInPath;
    },
  },
  addressHost: {
    weight: 30,
    isOfHost: true,
    doc: 'The host is an IP address.',
    find: ({ parts: { isAddress, host } }) => (isAddress ? host : undefined),
  },
  suspiciousSuffix: {
    weight: 20,
    isOfHost: true,
    doc: 'The name is under a suffix that abuse favours.',
    find: ({ parts: { suffix } }) => (suspiciousSuffixes.has(suffix) ? `.${suffix}` : undefined),
  },
  manyDots: {
    weight: 20,
    isOfHost: true,
    doc: `The host has more than ${dotsMax} dots.`,
    find: ({ parts: { host, isAddress } }) => {
      const dots = host.split('.').length - 1;
      return !isAddress && dots > dotsMax ? `${dots} dots` : undefined;
    },
  },
  manyHyphens: {
    weight: 15,
    isOfHost: true,
    doc: `The registered name has more than ${hyphensMax} hyphens.`,
    find: ({ parts: { label } }) => {
      const hyphens = label.startsWith('xn--') ? 0 : label.split('-').length - 1;
      return hyphens > hyphensMax ? `${hyphens} hyphens` : undefined;
    },
  },
  randomName: {
    weight: 15,
    isOfHost: true,
    doc: 'The registered name looks like random characters.',
    find: ({ parts: { label, isHosted } }) => (!isHosted && looksRandom(label) ? label : undefined),
  },
  freeHosting: {
    weight: 10,
    isOfHost: true,
    doc: 'The page is on a free host, where anyone can publish under its domain.',
    find: ({ parts: { domain, suffix, isHosted } }) =>
      isHosted ? suffix : freeHosts.has(domain) ? domain : undefined,
  },
  shortenerChain: {
    weight: 25,
    isOfHost: true,
    doc: 'The destination is itself a link of a URL shortener and hides where it leads.',
    find: ({ parts: { host, domain } }) => [host, domain].find(name => shortenerHosts.has(name)),
  },
  brokenIntoSite: {
    weight: 25,
    doc: 'A well-known name, or words about credentials, below a folder that normally has no pages, as on a hacked site.',
    find(subject) {
      const folder = /\/(?:wp-(?:content|includes)|\.well-known|cgi-bin|tmp|\.[a-z]+)\//.exec(
        subject.path,
      )?.[0];
      if (folder === undefined) return undefined;
      return subject.wordsInPath.length > 0 || subject.brandInPath !== undefined ? folder : undefined;
    },
  },
  hiddenText: {
    weight: 20,
    doc: 'Letters of the path are percent-encoded, which only hides them.',
    find: ({ rawPath }) => {
      if (!rawPath.includes('%')) return undefined;
      const escaped = rawPath.match(/%(?:4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a])/gi)?.length ?? 0;
      return escaped >= escapedLettersMin ? `${escaped} escaped letters` : undefined;
    },
  },
  unencryptedLogin: {
    weight: 10,
    doc: 'Words about credentials on a page without encryption.',
    find: subject =>
      subject.wordsInPath.length === 0 || subject.isEncrypted ? undefined : listed(subject.wordsInPath),
  },
  unusualPort: {
    weight: 10,
    doc: 'The URL has a non-default port.',
    find: ({ port }) => (port === '' ? undefined : port),
  },
  namedRecipient: {
    weight: 10,
    doc: 'The URL has an e-mail address in it, as on pages that address their victim.',
    find: subject =>
      /[@%]/.test(subject.url) && emailAddress.test(subject.readableUrl) ? 'an e-mail address' : undefined,
  },
  velocity: {
    weight: 15,
    doc: `The account or the address made more than ${velocityMax} links within an hour.`,
    find: ({ circumstances: { createdLastHour = 0 } }) =>
      createdLastHour > velocityMax ? `${createdLastHour} links within an hour` : undefined,
  },
  countryMismatch: {
    weight: 10,
    doc: 'The account usually works from another country.',
    find: ({ circumstances: { usualCountry, country } }) =>
      usualCountry !== undefined && country !== undefined && usualCountry !== country
        ? `from ${country}, usually ${usualCountry}`
        : undefined,
  },
} as const satisfies Record<string, RiskSignal>;

export type SignalName = keyof typeof riskSignals;
export const signalNames = Object.keys(riskSignals) as readonly SignalName[];
const isOfHost = (name: SignalName): boolean => (riskSignals[name] as RiskSignal).isOfHost === true;
const hostSignals = signalNames.filter(isOfHost);
const otherSignals = signalNames.filter(name => !isOfHost(name));

/** The signals that may have found something, in the order of the table. */
export const askedSignals = ({ hostFindings }: RiskSubject): readonly SignalName[] =>
  hostFindings.size === 0 ? otherSignals : signalNames;

/** What a signal found; undefined for nothing. */
export function findingOf(signal: SignalName, subject: RiskSubject): string | undefined {
  const row: RiskSignal = riskSignals[signal];
  return row.isOfHost ? subject.hostFindings.get(signal) : row.find(subject);
}

function disguisedAs(disguise: Disguise): (subject: RiskSubject) => string | undefined {
  return ({ impersonation: found }) =>
    found?.disguise === disguise ? `${found.seen} for ${found.brand}` : undefined;
}

/** Hardly any vowels, or letters and digits alternating. */
function looksRandom(label: string): boolean {
  if (label.length < 8 || label.startsWith('xn--')) return false;
  const letters = label.replace(/[^a-z]/g, '');
  const vowels = letters.replace(/[^aeiouy]/g, '').length;
  const turns = label.match(/[a-z](?=\d)|\d(?=[a-z])/g)?.length ?? 0;
  return (
    turns >= 4 ||
    (letters.length >= 8 && vowels / letters.length < 0.15) ||
    /[bcdfghjklmnpqrstvwxz]{7}/.test(label)
  );
}

const listed = (words: readonly string[]): string | undefined =>
  words.length === 0 ? undefined : [...new Set(words)].slice(0, 5).join(', ');

/** Facts outside the URL. Every field may be unknown. */
export interface Circumstances {
  readonly domainAgeDays?: number | undefined;
  /** Links made within the hour, all of the call included, by the account or from the address: whichever is more. */
  readonly createdLastHour?: number | undefined;
  /** The country that the account usually works from, if it has one, and today's. */
  readonly usualCountry?: string | undefined;
  readonly country?: string | undefined;
}

/** Takes a serialised URL. */
export const subjectOf = (url: string, circumstances: Circumstances): RiskSubject =>
  new RiskSubject(url, circumstances);

/** A serialised URL, taken apart once for all signals. What only few signals need is computed when one does. */
export class RiskSubject {
  readonly url: string;
  /** Query and fragment. */
  readonly #rest: string;
  /** Empty for the scheme's default. */
  readonly port: string;
  readonly parts: HostParts;
  /** The host's labels as a browser might show them. */
  readonly shownLabels: readonly string[];
  /** Words about credentials; used by several signals. */
  readonly wordsInHost: readonly string[];
  readonly wordsInPath: readonly string[];
  readonly impersonation: Impersonation | undefined;
  readonly hostFindings: ReadonlyMap<SignalName, string>;
  readonly rawPath: string;
  /** In lower case with escapes resolved: what a person would read. */
  readonly path: string;
  /** What is known about the client that wants to shorten it. */
  readonly circumstances: Circumstances;

  constructor(url: string, circumstances: Circumstances) {
    const hostAt = url.indexOf('//') + 2;
    const pathAt = url.indexOf('/', hostAt);
    const pathLength = url.slice(pathAt).search(/[?#]|$/);
    const authority = url.slice(hostAt, pathAt);
    // Most URLs have nothing but a host there, and parsing them again would cost more than all signals.
    const { hostname, port } = /[:@]/.test(authority) ? new URL(url) : { hostname: authority, port: '' };
    const host = hostFactsOf(hostname);
    this.url = url;
    this.port = port;
    this.parts = host.parts;
    this.shownLabels = host.shownLabels;
    this.wordsInHost = host.wordsInHost;
    this.impersonation = host.impersonation;
    this.hostFindings = host.findings ??= hostFindingsOf(this);
    this.rawPath = url.slice(pathAt, pathAt + pathLength);
    this.#rest = url.slice(pathAt + pathLength);
    this.path = readable(this.rawPath);
    this.wordsInPath = this.path.match(pathWords) ?? [];
    this.circumstances = circumstances;
  }

  get isEncrypted(): boolean {
    return this.url.startsWith('https:');
  }

  /** Path, query and fragment. */
  get readableUrl(): string {
    return `${this.path} ${readable(this.#rest)}`;
  }

  /** A well-known name in the path of a site that is not its own. */
  get brandInPath(): string | undefined {
    return foreignBrandIn(this.parts, this.path.split(/[^a-z0-9]+/));
  }
}

interface HostFacts extends Pick<RiskSubject, 'parts' | 'shownLabels' | 'wordsInHost' | 'impersonation'> {
  findings?: RiskSubject['hostFindings'];
}

function hostFindingsOf(subject: RiskSubject): RiskSubject['hostFindings'] {
  return new Map(
    hostSignals.flatMap(signal => {
      const detail = riskSignals[signal].find(subject);
      return detail === undefined ? [] : [[signal, detail]];
    }),
  );
}

/** Hosts whose facts are cached: links are often made in series to one site. */
const rememberedHostsMax = 10_000;
const remembered = new Map<string, HostFacts>();

/** Everything that follows from the host alone, which is most of the work. */
function hostFactsOf(hostname: string): HostFacts {
  const known = remembered.get(hostname);
  if (known !== undefined) return known;
  const parts = partsOf(hostname);
  const shownLabels = (parts.isAddress ? parts.host : shownHost(parts.host)).split('.');
  const facts: HostFacts = {
    parts,
    shownLabels,
    wordsInHost: wordsInHost(parts),
    impersonation: impersonationIn(parts, shownLabels),
  };
  if (remembered.size >= rememberedHostsMax) remembered.clear();
  remembered.set(hostname, facts);
  return facts;
}

/** Without the suffix: in a name under `.support` or `.security` it says nothing. */
function wordsInHost({ host, suffix, isAddress }: HostParts): readonly string[] {
  return isAddress ? [] : (host.slice(0, -suffix.length).match(hostWords) ?? []);
}

/** Never fails: an invalid escape is left as it is. */
function readable(text: string): string {
  if (!text.includes('%')) return text.toLowerCase();
  try {
    return decodeURIComponent(text).toLowerCase();
  } catch {
    return text
      .replace(/%([2-7][0-9a-f])/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
      .toLowerCase();
  }
}
