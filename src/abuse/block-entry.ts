/**
 * Blocklist entries, the parts of a URL that they match, and the lines that feeds and people write. Entries and URLs
 * are normalised into one spelling here, so that matching is a text comparison: no scheme, no root dot, no fragment, no
 * needless percent escape.
 *
 * Most servers answer `/login`, `/login/`, `/login;x` and `//login` alike, and some on several ports. So a blocked page
 * is blocked in its wide spelling, which leaves all of that out. An exception is kept in its exact spelling: widening
 * it would allow pages that were never reviewed. The same goes for an entry that names path parameters itself.
 *
 * Invariant: no line blocks a name that many owners share. `com`, `co.uk` or `github.io` is rejected with a
 * complaint, because it is nearly always a mistake of the feed; to block such a name, write `suffix:zip`.
 */
import { isAddress, isSharedByStrangers, isTopLevel, withoutRootDot } from './hosts.ts';

export type EntryKind =
  /** A host and everything below it. */
  | 'domain'
  /** Everything below a host, but not the host itself: `*.example.com`. */
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
  /** Whether it is an exception to the lists instead of an entry. */
  readonly isException: boolean;
}

/** Keeps entries of different kinds apart in one set of hashes. */
export const kindTags = { domain: 68, subdomains: 83, page: 80, url: 85, folder: 70 } as const;
export type HashedKind = keyof typeof kindTags;

/** The parts of a URL that entries match. */
export interface BlockTarget {
  readonly host: string;
  /** Host, port if there is one, and path. */
  readonly exact: string;
  /** The wide spellings: with the port and without, or one if there is no port. */
  readonly wide: readonly string[];
  /** With its question mark; empty for none. */
  readonly query: string;
}

/** Deeper folders cannot be listed, so that a URL of nothing but slashes costs no more than any other. */
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

/** Only the host, when nothing else is needed; undefined for text that is not a serialised URL. */
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
const hasParameters = (page: string): boolean => page.search(parameters) !== -1;

/** Without path parameters, escaped slashes and a trailing slash. `/..;/` is `/../` to some servers. */
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

/** Removes escapes from characters that never need one; keeps those that may change the meaning. */
function unescaped(text: string): string {
  if (!text.includes('%')) return text;
  return text.replace(/%([0-9a-f]{2})/gi, (sequence, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return /[\w.~-]/.test(character) ? character : sequence.toUpperCase();
  });
}

/**
 * Whether the pattern covers all of `text`. The parts between stars are searched from left to right; taking the first
 * match of each never spoils a later one, so there is no backtracking.
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

export type LineReading =
  | { readonly entries: readonly BlockEntry[] }
  | {
      readonly complaint: string;
      /** False for a valid line that is rejected for its effect. */
      readonly isUnreadable: boolean;
    };

const nothing: LineReading = { entries: [] };
const hostLengthMax = 253;
const entryLengthMax = 2_048;
const ownLettersMin = 4;

const plainDomain = /^(?!-)(?:[a-z0-9_-]+\.)+[a-z][a-z0-9-]*$/;
const hostCharacters = /^(?:[a-z0-9._-]+|\[[0-9a-f:]+\])$/;
/** Names that hosts files use for the machine itself. */
const localNames =
  /^(?:localhost(?:\.localdomain)?|local|broadcasthost|ip6-\w+|0\.0\.0\.0|[\w-]+\.localhost)$/;

/** Whether the line is a domain in its normal spelling that may be blocked, as nearly every line of a large feed is. */
export function isPlainDomain(line: string): boolean {
  return line.length <= hostLengthMax && plainDomain.test(line) && !isSharedByStrangers(line);
}

/**
 * A line as feeds and people write it: a plain domain, a hosts-file line, a URL, `||domain^`, a text with stars. `-entry`
 * (or `@@||domain^`) makes an exception. `#`, `;` and `!` start a comment.
 */
export function readBlockLine(line: string): LineReading {
  const text = withoutComment(line);
  if (text === '') return nothing;
  if (text.length > entryLengthMax) return unreadable('is too long');

  const { body, isException } = withoutMarks(text);
  const words = body.split(/\s+/);
  if (words.length > 1)
    return isAddressWord(words[0]!) ? hostsLine(words.slice(1)) : unreadable('is not one entry');
  if (body.startsWith('suffix:')) return wholeSuffix(body.slice('suffix:'.length), isException);
  if (body.includes('*')) return withStars(body, isException);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(body) || body.includes('/')) return page(body, isException);
  return host(body, isException);
}

/** The line for exactly this entry. */
export function lineOf({ kind, text, isException }: BlockEntry): string {
  const isSuffix = kind === 'domain' && !isException && !isAddress(text) && isSharedByStrangers(text);
  const before = isSuffix ? 'suffix:' : kind === 'subdomains' ? '*.' : '';
  return `${isException ? '-' : ''}${before}${text}${kind === 'folder' ? '*' : ''}`;
}

/** A `#` inside a URL is a fragment; one after a space is a comment. */
function withoutComment(line: string): string {
  const text = line.trim();
  if (/^[#;!]/.test(text)) return '';
  const commentAt = text.search(/\s[#;]/);
  return commentAt === -1 ? text : text.slice(0, commentAt).trimEnd();
}

function withoutMarks(text: string): { body: string; isException: boolean } {
  const isException = text.startsWith('-') || text.startsWith('@@');
  const body = text.replace(/^(?:-|@@)\s*/, '');
  const [, inner = body] = /^\|\|([^^]+)\^?$/.exec(body) ?? [];
  return { body: inner, isException };
}

function hostsLine(names: readonly string[]): LineReading {
  const entries: BlockEntry[] = [];
  for (const name of names) {
    if (localNames.test(name)) continue;
    const reading = host(name, false);
    if ('complaint' in reading) return reading;
    entries.push(...reading.entries);
  }
  return { entries };
}

function host(text: string, isException: boolean): LineReading {
  if (/:\d+$/.test(text) && !isAddressWord(text)) return page(`${text}/*`, isException);
  const name = hostOf(isIpv6(text) ? `[${text}]` : text);
  return name === undefined ? unreadable('is not a domain or URL') : domain(name, isException);
}

function domain(name: string, isException: boolean): LineReading {
  if (isAddress(name) || isException || !isSharedByStrangers(name)) return one('domain', name, isException);
  return name.includes('.') || isTopLevel(name) ? tooBroad(name) : unreadable('is not a domain or URL');
}

function wholeSuffix(text: string, isException: boolean): LineReading {
  const name = hostOf(text);
  return name === undefined ? unreadable('is not a suffix') : one('domain', name, isException);
}

function page(text: string, isException: boolean): LineReading {
  const isFolder = text.endsWith('/*');
  const url = URL.parse(withScheme(isFolder ? text.slice(0, -1) : text));
  const target = url !== null && /^https?:$/.test(url.protocol) ? targetOf(url.href) : undefined;
  if (url === null || target === undefined || url.username !== '' || !isHost(target.host)) {
    return unreadable('is not an http or https URL');
  }
  const { exact, wide, query } = target;
  const named = isException || hasParameters(exact) ? exact : wide[0]!;
  if (!isFolder) return one(query === '' ? 'page' : 'url', named + query, isException);
  const folder = asFolder(named);
  if (folder.split('/').length - 1 > folderDepthMax) {
    return refuse(`names a folder more than ${folderDepthMax} levels deep`);
  }
  if (folder === `${target.host}/`) return domain(target.host, isException);
  return one('folder', folder, isException);
}

function withStars(text: string, isException: boolean): LineReading {
  const pattern = text.replace(/^(?:https?|\*):\/\//i, '');
  const slashAt = pattern.indexOf('/');
  const hostPart = (slashAt === -1 ? pattern : pattern.slice(0, slashAt)).toLowerCase();
  const pathPart = slashAt === -1 ? '' : pattern.slice(slashAt);
  if (!hostPart.includes('*') && /^[^*?]*\/\*$/.test(pathPart)) return page(pattern, isException);
  if (!/^[a-z0-9.*_:-]+$/.test(hostPart)) return unreadable('is not a text with stars over a host');
  const [, below] = /^\*\.([^*]+)$/.exec(hostPart) ?? [];
  if (below !== undefined && pathPart === '') {
    return isSharedByStrangers(below) ? tooBroad(`*.${below}`) : one('subdomains', below, isException);
  }
  if (!isNarrow(hostPart)) return tooBroad(pattern);
  return one('pattern', hostPart + pathPart, isException);
}

/** Whether a pattern ends in a registered domain, or has enough letters besides its stars to be specific. */
function isNarrow(hostPattern: string): boolean {
  const labels = hostPattern.split('.');
  const fixedFrom = labels.findLastIndex(label => label.includes('*')) + 1;
  const ending = labels.slice(fixedFrom).join('.');
  if (ending.includes('.') && !isSharedByStrangers(ending)) return true;
  const ownLetters = labels
    .slice(0, fixedFrom)
    .join('')
    .replace(/[^a-z0-9]/g, '');
  return fixedFrom === 0 || ownLetters.length >= ownLettersMin;
}

/** As the URL parser spells it: lower case, punycode, no root dot. */
function hostOf(text: string): string | undefined {
  if (/[\s/\\?#@%]/.test(text)) return undefined;
  const url = URL.parse(`http://${text}/`);
  if (url === null || url.port !== '') return undefined;
  const name = url.hostname.replace(/\.$/, '');
  return isHost(name) ? name : undefined;
}

function isHost(name: string): boolean {
  const isName = name.length <= hostLengthMax && hostCharacters.test(name) && !/^\.|\.\./.test(name);
  return isName && (name.startsWith('[') || /[a-z]/.test(name) || isAddress(name));
}

const withScheme = (text: string): string =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
const isIpv6 = (text: string): boolean => /^[0-9a-f]*:[0-9a-f:.]*$/i.test(text) && text.split(':').length > 2;
const isAddressWord = (text: string): boolean => isAddress(text) || isIpv6(text);

function one(kind: EntryKind, text: string, isException: boolean): LineReading {
  return { entries: [{ kind, text, isException }] };
}

function unreadable(why: string): LineReading {
  return { complaint: why, isUnreadable: true };
}

function refuse(why: string): LineReading {
  return { complaint: why, isUnreadable: false };
}

function tooBroad(text: string): LineReading {
  return refuse(`would block names of strangers: ${text} is shared by many owners`);
}
