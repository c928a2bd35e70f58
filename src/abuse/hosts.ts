/**
 * Host names and who owns which part of them, by the public suffix list: below `co.uk` and `github.io` unrelated owners
 * have their own names, below `example.com` one owner has all. The list comes with a package and is read nowhere else.
 */
import { getPublicSuffix, parse } from 'tldts';
import { isIpv4Literal } from './own-hosts.ts';

export interface HostParts {
  /** Without the root dot. */
  readonly host: string;
  readonly isAddress: boolean;
  /** The registered domain, `evil.co.uk`; the whole host where none can be registered. */
  readonly domain: string;
  /** The registered label alone, `evil`; empty for addresses and bare suffixes. */
  readonly label: string;
  /** What the registrant put before it, `a.b`; empty for nothing. */
  readonly subdomain: string;
  /** `co.uk`; empty for addresses. */
  readonly suffix: string;
  /** Whether the suffix belongs to a company that lets others have names below it, such as `github.io`. */
  readonly isHosted: boolean;
}

/** The hosts here are serialised already, so nothing has to be extracted, checked or repaired. */
const options = {
  allowPrivateDomains: true,
  extractHostname: false,
  validateHostname: false,
  detectIp: false,
} as const;

/** Takes a host as the WHATWG parser serialises it. */
export function partsOf(hostname: string): HostParts {
  const host = withoutRootDot(hostname);
  if (isAddress(host)) {
    return { host, isAddress: true, domain: host, label: '', subdomain: '', suffix: '', isHosted: false };
  }
  const parsed = parse(host, options);
  return {
    host,
    isAddress: false,
    domain: parsed.domain ?? host,
    label: parsed.domainWithoutSuffix ?? '',
    subdomain: parsed.subdomain ?? '',
    suffix: parsed.publicSuffix ?? '',
    isHosted: parsed.isPrivate === true,
  };
}

/**
 * Whether unrelated owners have names right below this one: it is a public suffix, or every name below it is, as with
 * `kawasaki.jp`. Looking it up with a label in front that no list has answers both at once.
 */
export function isSharedByStrangers(host: string): boolean {
  const suffix = getPublicSuffix(`0-0.${host}`, options);
  return suffix !== null && suffix.length >= host.length;
}

/** Whether a single label is an existing top-level domain, and not just a word. */
export function isTopLevel(label: string): boolean {
  return parse(label, options).isIcann === true;
}

export function isAddress(host: string): boolean {
  return host.startsWith('[') || isIpv4Literal(host);
}

export function withoutRootDot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}
