/**
 * Hosts that pretend to be somebody else's, the boldest way first: a name that only looks like the other, the other's
 * whole domain in front of one's own, a name with one letter wrong, the other's name in one's own domain or before it.
 */
import { brandDomains, innocentNeighbours } from './brands.ts';
import { skeletonOf } from './homograph.ts';
import type { HostParts } from './hosts.ts';
import { freeHosts, suspiciousSuffixes } from './suspicious-names.ts';

export type Disguise = 'lookalike' | 'domainInHost' | 'typo' | 'nameInDomain' | 'nameInSubdomain';

export interface Impersonation {
  readonly disguise: Disguise;
  readonly brand: string;
  /** The part of the host that gives it away. */
  readonly seen: string;
}

const brands = [...brandDomains.keys()];
const ownDomains: ReadonlySet<string> = new Set([...brandDomains.values()].flatMap(domains => [...domains]));
/** The shorter a name, the more words it is part of, is one letter away from, or looks like. */
const bySkeleton = new Map(
  brands.filter(brand => brand.length >= 5).map(brand => [skeletonOf(brand), brand]),
);
const typoBrands = brands.filter(brand => brand.length >= 6);
/** From a length to the names that a text of that length can be one letter away from. */
const neighboursByLength = new Map(
  Array.from({ length: 30 }, (_, length) => [
    length,
    typoBrands.filter(brand => Math.abs(brand.length - length) <= 1),
  ]),
);
/** What may follow a name in the imitation of its domain. */
const suffixToken = /^(?:com?|net|org|info|[a-z]{2})$/;
/** Words of everyday language: inside of other words, or in a path, they say nothing. */
const everydayNames: ReadonlySet<string> = new Set(
  'apple blockchain chase discord outlook stripe telegram'.split(' '),
);
const gluedNames = typoBrands.filter(brand => !everydayNames.has(brand));

/** Takes the host's parts, and its labels as they are shown. */
export function impersonationIn(parts: HostParts, shownLabels: readonly string[]): Impersonation | undefined {
  if (parts.isAddress || isOwnDomain(parts)) return undefined;
  const suffixLabels = parts.suffix.split('.').length;
  const labels = shownLabels.slice(0, shownLabels.length - suffixLabels);
  return lookalikeIn(labels) ?? domainIn(parts) ?? typoIn(labels) ?? nameIn(parts);
}

/** A name that has no business on this host, in words that were split from a path. */
export function foreignBrandIn(parts: HostParts, words: readonly string[]): string | undefined {
  if (isOwnDomain(parts)) return undefined;
  return words.find(word => brandDomains.has(word));
}

/** Whether it is also a word of everyday language, which says nothing by itself. */
export const isEverydayName = (brand: string): boolean => everydayNames.has(brand);

/** Whether the domain belongs to one of the names itself; then it may speak of the others as it likes. */
export function isOwnDomain({ domain, label, suffix, isHosted }: HostParts): boolean {
  if (ownDomains.has(domain) || brandDomains.has(suffix)) return true;
  if (!brandDomains.has(label)) return false;
  // An organisation has its name there, and nobody else can take it.
  return suffix === 'github.io' || (!isHosted && !suspiciousSuffixes.has(suffix));
}

function lookalikeIn(labels: readonly string[]): Impersonation | undefined {
  for (const seen of labels.flatMap(withTokens)) {
    const brand = bySkeleton.get(skeletonOf(seen));
    if (brand !== undefined && brand !== seen) return { disguise: 'lookalike', brand, seen };
  }
  return undefined;
}

function domainIn({ subdomain }: HostParts): Impersonation | undefined {
  const tokens = subdomain.split(/[.-]/);
  const at = tokens.findIndex(
    (token, index) => brandDomains.has(token) && suffixToken.test(tokens[index + 1] ?? ''),
  );
  if (at === -1) return undefined;
  return { disguise: 'domainInHost', brand: tokens[at]!, seen: `${tokens[at]}.${tokens[at + 1]}` };
}

function typoIn(labels: readonly string[]): Impersonation | undefined {
  for (const seen of labels.flatMap(withTokens)) {
    if (innocentNeighbours.has(seen)) continue;
    const brand = neighboursByLength.get(seen.length)?.find(name => isOneEditApart(name, seen));
    if (brand !== undefined) return { disguise: 'typo', brand, seen };
  }
  return undefined;
}

function nameIn({ domain, label, subdomain }: HostParts): Impersonation | undefined {
  // Where pages are free, what stands before the domain is what somebody chose.
  const chosen = freeHosts.has(domain) ? subdomain : label;
  const inDomain =
    withTokens(chosen).find(token => brandDomains.has(token)) ??
    gluedNames.find(name => chosen.startsWith(name) || chosen.endsWith(name));
  if (inDomain !== undefined) return { disguise: 'nameInDomain', brand: inDomain, seen: chosen };
  const inSubdomain = subdomain.split(/[.-]/).find(token => brandDomains.has(token));
  if (inSubdomain === undefined) return undefined;
  return { disguise: 'nameInSubdomain', brand: inSubdomain, seen: subdomain };
}

const withTokens = (label: string): string[] =>
  label.includes('-') ? [label, ...label.split('-')] : [label];

/** One letter too many, too few, wrong, or two swapped. Equal texts are not apart. */
export function isOneEditApart(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1 || one === other) return false;
  // Nearly all pairs differ at both ends, which takes no work to see.
  if (one[0] !== other[0] && one.at(-1) !== other.at(-1)) return false;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const [restOfOne, restOfOther] = [one.slice(at), other.slice(at)];
  if (one.length > other.length) return restOfOne.slice(1) === restOfOther;
  if (one.length < other.length) return restOfOther.slice(1) === restOfOne;
  if (restOfOne.slice(1) === restOfOther.slice(1)) return true;
  const isSwapped = restOfOne[0] === restOfOther[1] && restOfOne[1] === restOfOther[0];
  return isSwapped && restOfOne.slice(2) === restOfOther.slice(2);
}
