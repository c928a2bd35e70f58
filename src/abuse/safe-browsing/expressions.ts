/**
 * What is looked up for one URL: every host suffix with every path prefix, so that a list can name a single page, a
 * folder or a whole site. At most thirty, and the exact URL first.
 */
import { isAddress, partsOf } from '../hosts.ts';
import type { CanonicalUrl } from './canonical-url.ts';

/** The host itself and up to four shorter ones. */
export type HostSuffixes = (host: string) => string[];

const shorterHostsMax = 4;
const rootedPathsMax = 4;
const oldHostLabelsMax = 5;

export function urlExpressions(url: CanonicalUrl, hostSuffixes: HostSuffixes): string[] {
  const paths = pathPrefixes(url);
  return hostSuffixes(url.host).flatMap(host => paths.map(path => `${host}${path}`));
}

/** Version 5: what somebody registered, by the public suffix list, and that with one, two and three more labels. */
export const hostSuffixesV5: HostSuffixes = host => {
  const { domain } = partsOf(host);
  const extra = host.slice(0, -domain.length).split('.').filter(Boolean);
  const suffixes = Array.from({ length: Math.min(shorterHostsMax, extra.length + 1) }, (_, labels) =>
    [...extra.slice(extra.length - labels), domain].join('.'),
  );
  return distinct([host, ...suffixes.reverse()]);
};

/** Version 4: the last five labels, and fewer, down to two. */
export const hostSuffixesV4: HostSuffixes = host => {
  if (isAddress(host)) return [host];
  const labels = host.split('.').slice(-oldHostLabelsMax);
  const suffixes = labels.map((_, index) => labels.slice(index).join('.')).slice(0, -1);
  return distinct([host, ...suffixes.filter(suffix => suffix !== host).slice(0, shorterHostsMax)]);
};

/** With the query, without it, and up to four folders from the root on. */
function pathPrefixes({ path, query }: CanonicalUrl): string[] {
  const folders = path.split('/').slice(1, -1);
  const rooted = Array.from({ length: Math.min(rootedPathsMax, folders.length + 1) }, (_, count) =>
    ['', ...folders.slice(0, count), ''].join('/'),
  );
  // A question mark with nothing behind it makes no address of its own.
  const exact = query === undefined || query === '' ? [] : [`${path}?${query}`];
  return distinct([...exact, path, ...rooted]);
}

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)];
