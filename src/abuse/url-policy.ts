/**
 * Which URLs a short link may point to. Every entry point (create, edit, bulk, import) asks `judge`, and the redirect
 * asks `isFollowable` again, so a row that reached the store some other way still cannot do harm.
 *
 * Invariant: an accepted URL is what a browser will really open. It is the WHATWG serialisation, it is http or https,
 * it names its host in plain sight and that host is not ours, and judging it again changes nothing.
 *
 * The WHATWG parser repairs a lot: `https:evil.com`, `https:\\evil.com` and `http://0x7f.1` all open without an error.
 * These are hardly ever written except to mislead a reader or a filter, so they are rejected although they parse: `://`
 * and a host must be written out, a backslash may appear only in query and fragment, and an IPv4 address must be
 * written as the four decimal numbers it is. Private addresses in plain sight are accepted, because links inside an
 * intranet are legitimate and Terse itself never fetches them.
 */
import { createOwnHosts, ipv4Within, isIpv4Literal, type OwnHosts } from './own-hosts.ts';

export interface UrlPolicy {
  judge(input: string): UrlVerdict;
  /** For stored URLs, which are serialised already: whether a visitor may still be sent there. */
  isFollowable(url: string): boolean;
}

export interface UrlPolicyOptions {
  /** The hosts that serve our short links, as in `URL.hostname`; a port is ignored. */
  readonly ownHosts: readonly string[];
}

export type UrlVerdict =
  | { readonly ok: true; readonly url: string }
  | { readonly ok: false; readonly reason: UrlReason; readonly detail: string };

export type UrlReason =
  | 'empty'
  | 'missing_scheme'
  | 'scheme_not_allowed'
  | 'control_character'
  | 'broken_unicode'
  | 'misleading_slashes'
  | 'missing_host'
  | 'credentials'
  | 'invalid_port'
  | 'invalid_host'
  | 'empty_label'
  | 'disguised_address'
  | 'own_host'
  | 'too_long';

/** Limits the serialised URL, which is ASCII, so characters and bytes are the same. */
export const urlBytesMax = 2048;
/** Limits the input. Serialising may shorten it, but nobody writes a URL at several times its length. */
export const urlInputBytesMax = 8192;
/** Limits of a DNS name and of each of its labels. */
const hostBytesMax = 253;
const labelBytesMax = 63;
/**
 * Limits a host in the input, its root dot included. The parser sorts combining marks in time that grows with the
 * square of their number: 160 KB of them took seven seconds, 253 take a twentieth of a millisecond. A serialised name
 * has at least one byte per counted character, so longer ones could not be accepted anyway.
 */
const hostCharactersMax = hostBytesMax + 1;

/** Null for text that is no URL, or has a host that is too long to be parsed. */
export const parseUrl = (raw: string): URL | null => (isHostTooLong(raw) ? null : URL.parse(raw));

export function createUrlPolicy(options: UrlPolicyOptions): UrlPolicy {
  const ownHosts = createOwnHosts(options.ownHosts);
  return {
    judge(input) {
      if (Buffer.byteLength(input) > urlInputBytesMax) {
        return refuse('too_long', `The URL has more than ${urlInputBytesMax} bytes.`);
      }
      const raw = trimSpaces(input);
      const isOrdinary = ordinaryPattern.test(raw);
      const parsed = isOrdinary ? URL.parse(raw) : parseUrl(raw);
      // An ordinary URL cannot have these mistakes, so it skips the detailed checks.
      const fault = parsed !== null && isOrdinary ? undefined : faultInWriting(raw, parsed);
      return fault ?? judgeParsed(parsed!, raw, ownHosts);
    },
    isFollowable(url) {
      const host = serialisedPattern.exec(url)?.[1];
      if (host === undefined || ownHosts.has(host)) return false;
      // A host whose last label starts with a letter is a name; what may be a number is left to the parser.
      return namePattern.test(host) || URL.parse(url)?.href === url;
    },
  };
}

/** Printable ASCII without a backslash, a lower-case host, neither userinfo nor port. */
const ordinaryPattern = /^https?:\/\/[a-z0-9][a-z0-9.-]*(?:[/?#][!-[\]-~]*)?$/;
const serialisedPattern = /^https?:\/\/([a-z0-9._-]+|\[[0-9a-f:]+\])(?::\d{1,5})?\/[!-~]*$/;
const namePattern = /(?:^|\.)[a-z][a-z0-9_-]*\.?$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
const controlPattern = /[\x00-\x1f\x7f-\x9f]/;
const authorityPattern = /^https?:\/\/([^/?#]*)/i;
const hostPattern = /^(?:[a-z0-9._-]+|\[[0-9a-f:]+\])$/;

/** What is wrong with the text itself. Finds something whenever the parser rejected it. */
function faultInWriting(raw: string, parsed: URL | null): UrlVerdict | undefined {
  if (raw === '') return refuse('empty', 'The URL is empty.');

  const scheme = parsed?.protocol ?? schemeAsParsed(raw);
  if (scheme === undefined || looksLikeHost(scheme, raw)) {
    return refuse(
      'missing_scheme',
      'The URL must start with https:// or http://, as in https://example.com/.',
    );
  }
  if (scheme !== 'http:' && scheme !== 'https:') {
    const shown = scheme.length > 32 ? `${scheme.slice(0, 32)}…` : scheme;
    return refuse('scheme_not_allowed', `Only http and https URLs can be shortened, not "${shown}".`);
  }
  if (controlPattern.test(raw)) {
    return refuse(
      'control_character',
      'The URL contains a control character, such as a tab or a line break.',
    );
  }
  if (!raw.isWellFormed()) {
    return refuse('broken_unicode', 'The URL contains half of a Unicode surrogate pair.');
  }

  const authority = authorityPattern.exec(raw)?.[1];
  if (authority === undefined || /^[^?#]*\\/.test(raw)) {
    return refuse(
      'misleading_slashes',
      `The URL must be written with forward slashes, as in ${scheme}//host/path.`,
    );
  }
  if (authority.includes('@')) {
    return refuse('credentials', 'The URL must not contain a user name or password ("@" before the host).');
  }
  const { host, port } = splitAuthority(authority);
  if (host === '') return refuse('missing_host', 'The URL has no host after "://".');
  if (parsed !== null) return undefined;
  if (!isPort(port)) return refuse('invalid_port', 'The port of the URL must be a number from 1 to 65535.');
  return invalidHost();
}

/** What is wrong with the URL as the parser understood it. */
function judgeParsed(parsed: URL, raw: string, ownHosts: OwnHosts): UrlVerdict {
  const { hostname, href } = parsed;
  if (parsed.port === '0') return refuse('invalid_port', 'The port of the URL must not be 0.');
  if (!hostPattern.test(hostname)) return invalidHost();
  if (hasEmptyLabel(hostname)) {
    return refuse(
      'empty_label',
      'The host of the URL has an empty part: two dots in a row or a dot in front.',
    );
  }
  if (isTooLongForDns(hostname)) {
    const detail = `The host of the URL is too long: at most ${hostBytesMax} bytes, and ${labelBytesMax} between two dots.`;
    return refuse('invalid_host', detail);
  }
  if (isIpv4Literal(hostname) && hostname !== hostAsWritten(raw)) return disguised(hostname);
  if (ownHosts.has(hostname)) {
    return refuse(
      'own_host',
      'The URL points to this service itself; short links cannot be shortened again.',
    );
  }
  // An entry that blocks an address means the machine, however it is written.
  const address = ipv4Within(hostname);
  if (address !== undefined) return disguised(address);
  if (href.length > urlBytesMax) {
    const detail = `The URL is ${href.length} bytes long in its encoded form; at most ${urlBytesMax} are allowed.`;
    return refuse('too_long', detail);
  }
  return { ok: true, url: href };
}

function refuse(reason: UrlReason, detail: string): UrlVerdict {
  return { ok: false, reason, detail };
}

function invalidHost(): UrlVerdict {
  return refuse('invalid_host', 'The host of the URL is not a valid domain name or address.');
}

function disguised(address: string): UrlVerdict {
  return refuse(
    'disguised_address',
    `The host of the URL is another spelling of ${address}; write it like that.`,
  );
}

/** The host as the parser finds it: tabs and line breaks do not count, and slashes lean either way. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the parser ignores them there.
const writtenHostPattern = /^[\x00-\x20]*[a-z][a-z0-9+.-]*:[/\\]*(?:[^/\\?#]*@)?([^/\\?#]*)/i;

/** Characters that are percent-encoded count once, whatever their bytes. */
function isHostTooLong(raw: string): boolean {
  const host = writtenHostPattern.exec(raw.replace(/[\t\r\n]/g, ''))?.[1] ?? '';
  if (host.length <= hostCharactersMax) return false;
  const decoded = host
    .replace(/:\d{0,5}$/, '')
    .replace(/%[89ab][0-9a-f]/gi, '')
    .replace(/%[0-9a-f]{2}/gi, 'x');
  return [...decoded].length > hostCharactersMax;
}

function isTooLongForDns(hostname: string): boolean {
  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  return name.length > hostBytesMax || name.split('.').some(label => label.length > labelBytesMax);
}

/** Plain spaces at the ends come from copying; any other white space there is left in and rejected. */
function trimSpaces(input: string): string {
  let start = 0;
  let end = input.length;
  while (start < end && input[start] === ' ') start += 1;
  while (end > start && input[end - 1] === ' ') end -= 1;
  return input.slice(start, end);
}

/** The scheme of a text that does not parse, read as the parser does: without tabs and line breaks. */
function schemeAsParsed(raw: string): string | undefined {
  const visible = raw.slice(0, 256).replace(/[\t\r\n]/g, '');
  return /^[a-z][a-z0-9+.-]*:/i.exec(visible)?.[0].toLowerCase();
}

/** `example.com:8080/x` and `localhost:3000` parse as schemes, but their authors forgot one. */
function looksLikeHost(scheme: string, raw: string): boolean {
  const rest = raw.slice(scheme.length);
  return /^\d{1,5}(?:[/?#]|$)/.test(rest) && (scheme.includes('.') || scheme === 'localhost:');
}

function splitAuthority(authority: string): { host: string; port: string } {
  const hostEnd = authority.startsWith('[') ? authority.indexOf(']') : 0;
  const colon = hostEnd === -1 ? -1 : authority.indexOf(':', hostEnd);
  if (colon === -1) return { host: authority, port: '' };
  return { host: authority.slice(0, colon), port: authority.slice(colon + 1) };
}

function hostAsWritten(raw: string): string {
  return splitAuthority(authorityPattern.exec(raw)?.[1] ?? '').host;
}

/** An empty port is the default one, as in `http://example.com:/`. */
function isPort(port: string): boolean {
  return /^\d*$/.test(port) && Number(port) <= 65_535;
}

/** One trailing dot is the root of the DNS and not an empty label. */
function hasEmptyLabel(hostname: string): boolean {
  return hostname.startsWith('.') || hostname.includes('..');
}
