/**
 * Lines of a blocklist, as feeds and people write them: plain domains, hosts-file lines, URLs, `||domain^`, texts with
 * stars. `-entry` (or `@@||domain^`) makes an exception. `#`, `;` and `!` start a comment.
 *
 * Invariant: no line blocks what strangers share. `com`, `co.uk` or `github.io` is refused with a complaint, because
 * it is far more often an accident of a feed than a wish; who wishes it writes `suffix:zip`.
 *
 * Pure: reading the file is the business of whoever knows where it is.
 */
import {
  asFolder,
  type BlockEntry,
  type EntryKind,
  folderDepthMax,
  hasParameters,
  targetOf,
} from './block-entry.ts';
import { isAddress, isSharedByStrangers, isTopLevel } from './hosts.ts';

export type LineReading =
  | { readonly entries: readonly BlockEntry[] }
  | {
      readonly complaint: string;
      /** False for a line that makes sense and is refused for what it would do. */
      readonly isUnreadable: boolean;
    };

const nothing: LineReading = { entries: [] };
const hostLengthMax = 253;
const entryLengthMax = 2_048;
const ownLettersMin = 4;

const plainDomain = /^(?!-)(?:[a-z0-9_-]+\.)+[a-z][a-z0-9-]*$/;
const hostCharacters = /^(?:[a-z0-9._-]+|\[[0-9a-f:]+\])$/;
/** What hosts files name for the machine itself. */
const localNames =
  /^(?:localhost(?:\.localdomain)?|local|broadcasthost|ip6-\w+|0\.0\.0\.0|[\w-]+\.localhost)$/;

/** Nearly every line of a large feed is this: a domain in its one spelling, which may be blocked. */
export function isPlainDomain(line: string): boolean {
  return line.length <= hostLengthMax && plainDomain.test(line) && !isSharedByStrangers(line);
}

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

/** The line that says exactly this entry. */
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

/** Either it ends in somebody's domain, or enough letters stand beside the stars to mean something. */
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
