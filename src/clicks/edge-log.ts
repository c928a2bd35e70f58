/**
 * A line of an edge cache's log. One format for all of them, which each can be told to write: nine fields between tabs.
 *
 *   time       seconds since 1970, with a fraction
 *   id         of the request, unique among all edges
 *   status     of the answer
 *   cache      what the cache did: HIT, STALE and UPDATING are its own answers, of which Terse knows nothing
 *   method, path, address, user agent, referrer
 *
 * `-` is an empty field; `\xNN`, `\t`, `\"` and the like are escapes, as nginx and Varnish write them.
 *
 * Invariant: what a line is follows from the line alone. Clicks of a log are numbered by counting its lines, and a log
 * that is read again must give every click its old number.
 */
import { isIP } from 'node:net';
import { codePattern } from '../links/link.ts';
import { clickTimeMin } from './frame.ts';

export interface EdgeVisit {
  readonly at: number;
  readonly code: string;
  readonly isHead: boolean;
  readonly address: string;
  readonly agent: string;
  readonly referrer: string;
}

/**
 * A click that only the edge saw; `seen` when Terse answered it and has counted it; `other` when nobody followed a link;
 * `unreadable` when it is no line of this format.
 */
export type EdgeLine =
  | { readonly kind: 'click'; readonly visit: EdgeVisit }
  | { readonly kind: 'seen' | 'other' | 'unreadable' };

const fieldCount = 9;
const ownAnswer = /^(?:hit|stale|updating)\b/i;
const redirectStatus = /^30[1278]$/;
const seconds = /^\d{9,10}(?:\.\d{1,9})?$/;
const [seen, other, unreadable] = [{ kind: 'seen' }, { kind: 'other' }, { kind: 'unreadable' }] as const;

export function parseEdgeLine(line: string): EdgeLine {
  const fields = line.split('\t');
  const [time, id, status, cache, method, path] = fields as [string, string, string, string, string, string];
  if (fields.length !== fieldCount || !seconds.test(time) || id === '' || !/^\d{3}$/.test(status))
    return unreadable;
  const code = codeIn(path);
  const isVisit = redirectStatus.test(status) && (method === 'GET' || method === 'HEAD');
  if (!isVisit || code === undefined) return other;
  if (!ownAnswer.test(cache)) return seen;
  const [address, agent, referrer] = fields.slice(-3).map(textOf) as [string, string, string];
  const at = Math.floor(Number(time) * 1_000);
  if (isIP(address) === 0 || at < clickTimeMin) return unreadable;
  return { kind: 'click', visit: { at, code, isHead: method === 'HEAD', address, agent, referrer } };
}

/** Without the query; an escape in a path stands for a character that no code has, or is another spelling of one. */
function codeIn(path: string): string | undefined {
  const [bare = ''] = path.split('?', 1);
  if (!bare.startsWith('/')) return undefined;
  try {
    const code = decodeURIComponent(bare.slice(1));
    return codePattern.test(code) ? code : undefined;
  } catch {
    return undefined;
  }
}

const escapes: Readonly<Record<string, number>> = { n: 0x0a, r: 0x0d, t: 0x09 };

function textOf(field: string): string {
  if (field === '-') return '';
  if (!field.includes('\\')) return field;
  // Escapes are bytes, and several of them may be one character.
  const bytes: number[] = [];
  for (const [part, hex, letter] of field.matchAll(/\\x([0-9A-Fa-f]{2})|\\(.)|[^\\]+|\\$/g)) {
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else if (letter !== undefined) bytes.push(escapes[letter] ?? letter.charCodeAt(0) & 0xff);
    else bytes.push(...Buffer.from(part));
  }
  return Buffer.from(bytes).toString('utf8');
}
