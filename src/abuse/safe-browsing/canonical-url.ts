/**
 * A URL in the one form that Safe Browsing hashes, so that all the ways to write an address meet in one. It is not
 * a form to open: escapes are undone until none is left, and only a few characters are escaped again.
 * Characters stand for bytes. What Terse stores is ASCII anyway; anything beyond 255 has no canonical form here.
 */

export interface CanonicalUrl {
  readonly scheme: string;
  readonly host: string;
  /** Starts with a slash. */
  readonly path: string;
  /** Without the question mark; undefined where the URL has none. */
  readonly query: string | undefined;
}

/** Undoing an escape shortens the text, so this many rounds undo what anybody can nest in a URL of 2,048 bytes. */
const unescapeRoundsMax = 1_024;
const ipv4Bytes = 4;

/** Undefined when there is no host to speak of. */
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

function unescapeAll(text: string): string {
  let before = text;
  for (let round = 0; round < unescapeRoundsMax; round += 1) {
    const after = before.replace(/%([0-9a-f]{2})/gi, (_escape, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
    if (after === before) break;
    before = after;
  }
  return before;
}

function escapeBytes(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are among what is escaped.
  return text.replace(/[\x00-\x20\x7f-\xff#%]/g, character => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

/**
 * Without user, password, leading dots and port. Whatever is removed is removed here at once: a colon or a dot that
 * stayed would go when the result is canonicalised again.
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

/** Any way to write an IPv4 address that the system resolvers know: octal, hexadecimal, fewer than four parts. */
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

/** An IPv4 address in the clothes of an IPv6 one counts as what it is. */
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
