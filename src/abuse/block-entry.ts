/**
 * What a blocklist can say, and the parts of a URL it says it about. Entries and URLs are brought into one spelling
 * here, so that matching is a comparison of texts: no scheme, no root dot, no fragment, no needless percent escape.
 *
 * Most servers answer `/login`, `/login/`, `/login;x` and `//login` alike, and some on several ports. So a page that is
 * blocked is blocked in its wide spelling, which leaves all of that out. An exception is kept in its exact spelling: widening
 * it would free what nobody looked at. The same goes for an entry that names path parameters itself.
 */
import { withoutRootDot } from './hosts.ts';

export type EntryKind =
  /** A host and all below it. */
  | 'domain'
  /** All below a host, but not the host itself: `*.example.com`. */
  | 'subdomains'
  /** A page, whatever its query, path parameters and port: `example.com/login`. */
  | 'page'
  /** A page with exactly this query: `example.com/?id=7`. */
  | 'url'
  /** A folder and all pages below it: `example.com/bad/*`. */
  | 'folder'
  /** A text with stars, each for any characters: `paypal-*.example`. */
  | 'pattern';

export interface BlockEntry {
  readonly kind: EntryKind;
  /** In the spelling of `BlockTarget`. */
  readonly text: string;
  /** Whether it takes something out of the lists instead of adding it. */
  readonly isException: boolean;
}

/** Keeps entries of different kinds apart in one set of hashes. */
export const kindTags = { domain: 68, subdomains: 83, page: 80, url: 85, folder: 70 } as const;
export type HashedKind = keyof typeof kindTags;

/** A URL as entries see it. */
export interface BlockTarget {
  readonly host: string;
  /** Host, port if there is one, and path. */
  readonly exact: string;
  /** The wide spellings, with the port and without; one of them where there is no port. */
  readonly wide: readonly string[];
  /** With its question mark; empty for none. */
  readonly query: string;
}

/** Deeper folders cannot be listed, so that a URL of nothing but slashes costs no more than another. */
export const folderDepthMax = 8;

const partsPattern = /^https?:\/\/([^/?#]+)([^?#]*)(?:\?([^#]*))?/;

/** Takes a serialised URL; undefined for anything else, which matches nothing. */
export function targetOf(url: string): BlockTarget | undefined {
  const parts = partsPattern.exec(url);
  if (parts === null) return undefined;
  const [, rawAuthority = '', path = '', query = ''] = parts;
  const portAt = rawAuthority.search(/:\d+$/);
  const host = withoutRootDot(portAt === -1 ? rawAuthority : rawAuthority.slice(0, portAt));
  const port = portAt === -1 ? '' : rawAuthority.slice(portAt);
  const exactPath = plainPath(path === '' ? '/' : path);
  const widePath = widened(exactPath);
  return {
    host,
    exact: host + port + exactPath,
    wide: port === '' ? [host + widePath] : [host + port + widePath, host + widePath],
    query: query === '' ? '' : `?${unescaped(query)}`,
  };
}

/** Only the host, for when nothing else is asked; undefined for what is no serialised URL. */
export function hostIn(url: string): string | undefined {
  const from = url.startsWith('https://') ? 8 : url.startsWith('http://') ? 7 : 0;
  const slashAt = from === 0 ? -1 : url.indexOf('/', from);
  if (slashAt === -1) return undefined;
  const authority = url.slice(from, slashAt);
  if (!authority.includes(':')) return withoutRootDot(authority);
  return targetOf(url)?.host;
}

/** The page as a folder: with a slash at its end. */
export const asFolder = (page: string): string => (page.endsWith('/') ? page : `${page}/`);

const parameters = /(?:;|%3B)[^/]*/g;

/** Whether a page has path parameters, as in `/view;id=7`. */
export const hasParameters = (page: string): boolean => page.search(parameters) !== -1;

/** Without path parameters, escaped slashes and a slash at the end. What looks like `/..;/` is `/../` to some servers. */
function widened(path: string): string {
  let plain = path;
  if (path.includes('%') || path.includes(';')) {
    plain = path
      .replace(/%2F|%5C/g, '/')
      .replace(parameters, '')
      .replace(/\/{2,}/g, '/');
    if (/\/\.\.?(?:\/|$)/.test(plain)) plain = URL.parse(`http://host${plain}`)?.pathname ?? plain;
  }
  return plain.length > 1 && plain.endsWith('/') ? plain.slice(0, -1) : plain;
}

/** Doubled slashes and escaped letters lead to the same page on nearly every server. */
function plainPath(path: string): string {
  return unescaped(path.includes('//') ? path.replace(/\/{2,}/g, '/') : path);
}

/** Characters that never need an escape are written without; those that may mean something escaped stay. */
function unescaped(text: string): string {
  if (!text.includes('%')) return text;
  return text.replace(/%([0-9a-f]{2})/gi, (sequence, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return /[\w.~-]/.test(character) ? character : sequence.toUpperCase();
  });
}

/**
 * Whether the star-text covers all of `text`. What stands between stars is looked for from left to right; taking the
 * first place of each never spoils a later one, so nothing is tried twice.
 */
export function coversWithStars(pattern: string, text: string): boolean {
  const [beginning = '', ...pieces] = pattern.split('*');
  const ending = pieces.pop();
  if (ending === undefined) return pattern === text;
  if (!text.startsWith(beginning) || !text.endsWith(ending)) return false;
  let at = beginning.length;
  for (const piece of pieces) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return at + ending.length <= text.length;
}
