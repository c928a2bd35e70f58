/** A URL taken apart once, for all signals to look at; and what is known about whoever wants to shorten it. */
import { shownHost } from './homograph.ts';
import { type HostParts, partsOf } from './hosts.ts';
import { foreignBrandIn, type Impersonation, impersonationIn } from './impersonation.ts';
import { hostWords, pathWords } from './suspicious-names.ts';

export interface RiskSubject {
  readonly parts: HostParts;
  /** The host's labels as a browser might show them. */
  readonly shownLabels: readonly string[];
  readonly isEncrypted: boolean;
  /** Empty for the scheme's own. */
  readonly port: string;
  readonly rawPath: string;
  /** Path, query and fragment in lower case with escapes resolved: what a person would read. */
  readonly path: string;
  readonly query: string;
  readonly fragment: string;
  /** Words about credentials; several signals ask for them. */
  readonly wordsInPath: readonly string[];
  readonly wordsInHost: readonly string[];
  readonly impersonation: Impersonation | undefined;
  /** A well-known name in the path of a site that is not its own. */
  readonly brandInPath: string | undefined;
  readonly circumstances: Circumstances;
}

/** What is not in the URL. Every field may be unknown. */
export interface Circumstances {
  readonly domainAgeDays?: number | undefined;
  /** Links made within the hour, this one included, by the account or from the address, whichever is more. */
  readonly createdLastHour?: number | undefined;
  /** The country that the account usually works from, where it has a usual one, and today's. */
  readonly usualCountry?: string | undefined;
  readonly country?: string | undefined;
}

/** Takes a serialised URL. */
export function subjectOf(url: string, circumstances: Circumstances): RiskSubject {
  const { protocol, hostname, port, pathname, search, hash } = new URL(url);
  const host = hostFactsOf(hostname);
  const path = readable(pathname);
  return {
    ...host,
    isEncrypted: protocol === 'https:',
    port,
    rawPath: pathname,
    path,
    query: readable(search),
    fragment: readable(hash),
    wordsInPath: path.match(pathWords) ?? [],
    brandInPath: foreignBrandIn(host.parts, path.split(/[^a-z0-9]+/)),
    circumstances,
  };
}

type HostFacts = Pick<RiskSubject, 'parts' | 'shownLabels' | 'wordsInHost' | 'impersonation'>;

/** Hosts whose facts are remembered: links are often made in series to one site. */
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

/** The suffix is not part of it: `.support` and `.security` are places, not words. */
function wordsInHost({ host, suffix, isAddress }: HostParts): readonly string[] {
  return isAddress ? [] : (host.slice(0, -suffix.length).match(hostWords) ?? []);
}

/** Never fails: what is no valid escape is left as it stands. */
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
