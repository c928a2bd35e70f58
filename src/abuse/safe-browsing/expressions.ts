/**
 * What is looked up for one URL: every host suffix with every path prefix of its canonical form, so that a list can name
 * a single page, a folder or a whole site. At most thirty, and the exact URL first.
 *
 * The canonical form makes all spellings of an address one. It is not a form to open: escapes are undone until none is
 * left, and only a few characters are escaped again. Characters stand for bytes. What Terse stores is ASCII anyway;
 * anything beyond 255 has no canonical form here.
 */
import { partsOf } from '../hosts.ts';

export interface CanonicalUrl {
  readonly scheme: string;
  readonly host: string;
  /** Starts with a slash. */
  readonly path: string;
  /** Without the question mark; undefined where the URL has none. */
  readonly query: string | undefined;
}

const ipv4Bytes = 4;
const shorterHostsMax = 4;
const rootedPathsMax = 4;

/** Undefined when there is no host. */
export function canonicaliseUrl(url: string): CanonicalUrl | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: bytes are what is meant.
  if (/[^\x00-\xff]/.test(url)) return undefined;
  const [withoutFragment = ''] = url
    .replace(/[\t\r\n]/g, '')
    .replace(/^ +| +$/g, '')
    .split('#', 1);
  const bare = unescapeAll(withoutFragment);
  const { scheme = 'http', rest = '' } =
    /^(?:(?<scheme>[a-z][a-z0-9+.-]*):\/\/)?(?<rest>.*)$/is.exec(bare)?.groups ?? {};
  const { authority = '', tail = '' } = /^(?<authority>[^/?]*)(?<tail>.*)$/s.exec(rest)?.groups ?? {};
  const host = canonicalHost(hostOf(authority));
  if (host === '') return undefined;
  const question = tail.indexOf('?');
  return {
    scheme: scheme.toLowerCase(),
    host: escapeBytes(host),
    path: escapeBytes(canonicalPath(question === -1 ? tail : tail.slice(0, question))),
    query: question === -1 ? undefined : escapeBytes(tail.slice(question + 1)),
  };
}

export function canonicalText({ scheme, host, path, query }: CanonicalUrl): string {
  return `${scheme}://${host}${path}${query === undefined ? '' : `?${query}`}`;
}

/**
 * Unescapes until no escape is left, including those that unescaping creates: `%2541` is `A`. Escapes never overlap, so
 * the order does not matter; each character is checked when it is appended, which takes one pass.
 */
function unescapeAll(text: string): string {
  if (!text.includes('%')) return text;
  const done: string[] = [];
  for (const character of text) {
    done.push(character);
    while (done.at(-3) === '%' && isHexDigit(done.at(-2)!) && isHexDigit(done.at(-1)!)) {
      const low = done.pop()!;
      const digits = done.pop()! + low;
      done[done.length - 1] = String.fromCharCode(Number.parseInt(digits, 16));
    }
  }
  return done.join('');
}

const isHexDigit = (character: string): boolean => /^[0-9a-f]$/i.test(character);

function escapeBytes(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are among what is escaped.
  return text.replace(/[\x00-\x20\x7f-\xff#%]/g, character => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

/**
 * Removes user, password, leading dots and port, all at once: canonicalising the result again must not change it.
 */
function hostOf(authority: string): string {
  const place = authority.slice(authority.lastIndexOf('@') + 1).replace(/^\.+/, '');
  return /^\[[^\]]*\]/.exec(place)?.[0] ?? place.split(':', 1)[0]!;
}

function canonicalHost(host: string): string {
  if (host.startsWith('[')) return canonicalIpv6(host);
  const name = host.replace(/\.+$/, '').replace(/\.{2,}/g, '.');
  return ipv4Of(name) ?? name.toLowerCase();
}

/** Any spelling of an IPv4 address that system resolvers accept: octal, hexadecimal, fewer than four parts. */
function ipv4Of(name: string): string | undefined {
  const parts = name.split('.');
  if (parts.length > ipv4Bytes) return undefined;
  const numbers = parts.map(numberOfPart);
  const last = numbers.pop() ?? Number.NaN;
  // The last part fills all bytes that the parts before it leave.
  const lastBytes = ipv4Bytes - numbers.length;
  if (!(last < 256 ** lastBytes) || !numbers.every(number => number < 256)) return undefined;
  const lastParts = Array.from({ length: lastBytes }, (_, index) => {
    return Math.floor(last / 256 ** (lastBytes - 1 - index)) % 256;
  });
  return [...numbers, ...lastParts].join('.');
}

function numberOfPart(part: string): number {
  if (/^0x[0-9a-f]{1,8}$/i.test(part)) return Number.parseInt(part.slice(2), 16);
  if (/^0[0-7]{1,11}$/.test(part)) return Number.parseInt(part, 8);
  return /^(?:0|[1-9]\d{0,9})$/.test(part) ? Number(part) : Number.NaN;
}

/** An IPv4 address embedded in an IPv6 one counts as IPv4. */
function canonicalIpv6(host: string): string {
  const written = URL.parse(`http://${host}/`)?.hostname ?? host.toLowerCase();
  const carried = /^\[(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(written);
  if (carried === null) return written;
  return carried
    .slice(1)
    .flatMap(group => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff])
    .join('.');
}

function canonicalPath(path: string): string {
  const segments = path.split('/').slice(1);
  const kept: string[] = [];
  for (const segment of segments) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  const endsOpen = kept.length > 0 && ['', '.', '..'].includes(segments.at(-1) ?? '');
  return `/${kept.join('/')}${endsOpen ? '/' : ''}`;
}

export function urlExpressions(url: CanonicalUrl): string[] {
  const paths = pathPrefixes(url);
  return hostSuffixes(url.host).flatMap(host => paths.map(path => `${host}${path}`));
}

/** The host, the registered domain by the public suffix list, and that with one, two and three more labels. */
export function hostSuffixes(host: string): string[] {
  const { domain } = partsOf(host);
  const extra = host.slice(0, -domain.length).split('.').filter(Boolean);
  const suffixes = Array.from({ length: Math.min(shorterHostsMax, extra.length + 1) }, (_, labels) =>
    [...extra.slice(extra.length - labels), domain].join('.'),
  );
  return distinct([host, ...suffixes.reverse()]);
}

/** With the query, without it, and up to four folders from the root on. */
function pathPrefixes({ path, query }: CanonicalUrl): string[] {
  const folders = path.split('/').slice(1, -1);
  const rooted = Array.from({ length: Math.min(rootedPathsMax, folders.length + 1) }, (_, count) =>
    ['', ...folders.slice(0, count), ''].join('/'),
  );
  // A question mark with nothing behind it is not a separate address.
  const exact = query === undefined || query === '' ? [] : [`${path}?${query}`];
  return distinct([...exact, path, ...rooted]);
}

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)];
