/**
 * Everything that speaks against a URL, in one table: what it adds to the score, what it means, and how it is seen. A
 * signal is a pure function that returns what it saw, in words for a moderator, or undefined. None of them decides
 * alone unless its weight passes a threshold; operators change weights with a risk file (docs/abuse.md is made from
 * this table).
 */
import { isWholeDisguise, oddMixture } from './homograph.ts';
import { type Disguise, isEverydayName } from './impersonation.ts';
import type { RiskSubject } from './risk-subject.ts';
import { freeHosts, hostWords, shortenerHosts, suspiciousSuffixes } from './suspicious-names.ts';

export interface RiskSignal {
  readonly weight: number;
  readonly doc: string;
  readonly find: (subject: RiskSubject) => string | undefined;
}

/** Begins where a word does, lest a long word be tried again from each of its letters. */
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
    doc: 'Path or host speak of credentials: login, password, verify and the like, in several languages.',
    find: ({ wordsInPath, wordsInHost }) => listed([...wordsInPath, ...wordsInHost]),
  },
  wordyDomain: {
    weight: 25,
    doc: 'The registered name itself is made of such words: `secure-login-update`.',
    find: ({ parts: { label } }) =>
      label.includes('-') || (label.match(hostWords)?.length ?? 0) > 1
        ? listed(label.match(hostWords) ?? [])
        : undefined,
  },
  lookalikeName: {
    weight: 65,
    doc: 'The host looks like a well-known name without being it: `paypa1`, `rnicrosoft`, Cyrillic `аррӏе`.',
    find: disguisedAs('lookalike'),
  },
  mixedScripts: {
    weight: 65,
    doc: 'A label of the host mixes scripts that nobody mixes, such as Latin and Cyrillic.',
    find: ({ shownLabels }) => {
      const mixture = shownLabels.map(oddMixture).find(found => found !== undefined);
      return mixture?.join(' and ');
    },
  },
  foreignLetters: {
    weight: 30,
    doc: 'A label under a Latin suffix is made only of foreign letters that look Latin.',
    find: ({ parts, shownLabels }) =>
      /^[a-z.]*$/.test(parts.suffix) ? shownLabels.find(isWholeDisguise) : undefined,
  },
  brandDomainInHost: {
    weight: 50,
    doc: "A well-known domain stands in front of somebody else's: `paypal.com.example.net`.",
    find: disguisedAs('domainInHost'),
  },
  brandTypo: {
    weight: 45,
    doc: 'The host is one letter away from a well-known name: `paypall`, `gogle`.',
    find: disguisedAs('typo'),
  },
  brandInDomain: {
    weight: 45,
    doc: 'Somebody else registered a name that has a well-known one in it: `paypal-help`.',
    find: disguisedAs('nameInDomain'),
  },
  brandInSubdomain: {
    weight: 30,
    doc: "A well-known name stands in front of somebody else's domain: `paypal.example.net`.",
    find: disguisedAs('nameInSubdomain'),
  },
  brandInPath: {
    weight: 15,
    doc: "A well-known name stands beside words about credentials in the path of somebody else's site.",
    find({ wordsInPath, brandInPath }) {
      const counts = wordsInPath.length > 0 && brandInPath !== undefined && !isEverydayName(brandInPath);
      return counts ? brandInPath : undefined;
    },
  },
  addressHost: {
    weight: 30,
    doc: 'The host is an IP address.',
    find: ({ parts: { isAddress, host } }) => (isAddress ? host : undefined),
  },
  suspiciousSuffix: {
    weight: 20,
    doc: 'The name is under a suffix that abuse favours.',
    find: ({ parts: { suffix } }) => (suspiciousSuffixes.has(suffix) ? `.${suffix}` : undefined),
  },
  manyDots: {
    weight: 20,
    doc: `The host has more than ${dotsMax} dots.`,
    find: ({ parts: { host, isAddress } }) => {
      const dots = host.split('.').length - 1;
      return !isAddress && dots > dotsMax ? `${dots} dots` : undefined;
    },
  },
  manyHyphens: {
    weight: 15,
    doc: `The registered name has more than ${hyphensMax} hyphens.`,
    find: ({ parts: { label } }) => {
      const hyphens = label.startsWith('xn--') ? 0 : label.split('-').length - 1;
      return hyphens > hyphensMax ? `${hyphens} hyphens` : undefined;
    },
  },
  randomName: {
    weight: 15,
    doc: 'The registered name is a row of characters that nobody could say or remember.',
    find: ({ parts: { label, isHosted } }) => (!isHosted && looksRandom(label) ? label : undefined),
  },
  freeHosting: {
    weight: 10,
    doc: 'The page lies where anyone gets one in a minute, without a name of their own.',
    find: ({ parts: { domain, suffix, isHosted } }) =>
      isHosted ? suffix : freeHosts.has(domain) ? domain : undefined,
  },
  shortenerChain: {
    weight: 25,
    doc: 'The destination is itself a link of a URL shortener and hides where it leads.',
    find: ({ parts: { host, domain } }) => [host, domain].find(name => shortenerHosts.has(name)),
  },
  brokenIntoSite: {
    weight: 25,
    doc: 'A well-known name, or words about credentials, below a folder that holds no pages: a site broken into.',
    find: ({ wordsInPath, brandInPath, path }) =>
      wordsInPath.length > 0 || brandInPath !== undefined
        ? /\/(?:wp-(?:content|includes)|\.well-known|cgi-bin|tmp|\.[a-z]+)\//.exec(path)?.[0]
        : undefined,
  },
  hiddenText: {
    weight: 20,
    doc: 'Letters of the path are written as escapes, which serves only to hide them.',
    find: ({ rawPath }) => {
      const escaped = rawPath.match(/%(?:4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a])/gi)?.length ?? 0;
      return escaped >= escapedLettersMin ? `${escaped} escaped letters` : undefined;
    },
  },
  unencryptedLogin: {
    weight: 10,
    doc: 'Words about credentials on a page without encryption.',
    find: ({ isEncrypted, wordsInPath }) => (isEncrypted ? undefined : listed(wordsInPath)),
  },
  unusualPort: {
    weight: 10,
    doc: 'The URL names a port of its own.',
    find: ({ port }) => (port === '' ? undefined : port),
  },
  namedRecipient: {
    weight: 10,
    doc: 'The URL carries an e-mail address, as a page does that greets its victim.',
    find: ({ query, fragment, path }) =>
      emailAddress.test(`${path} ${query} ${fragment}`) ? 'an e-mail address' : undefined,
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

function disguisedAs(disguise: Disguise): (subject: RiskSubject) => string | undefined {
  return ({ impersonation: found }) =>
    found?.disguise === disguise ? `${found.seen} for ${found.brand}` : undefined;
}

/** No vowels to speak of, or letters and digits taking turns. */
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
