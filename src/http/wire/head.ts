/**
 * The first line of a request: what is wanted, by which method, in which version. Targets come as a path or, from
 * proxies and old clients, as a whole URL; both become a path and a query, neither decoded nor cleaned up, so that
 * `/a/../b` and `/a#b`, which no browser sends, are nobody's path.
 */
import { Problem } from '../../base/errors.ts';
import { malformed } from './fields.ts';

export interface RequestLine {
  readonly method: string;
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  readonly isOldVersion: boolean;
}

const methodShape = /^[A-Z]{1,16}$/;
const unprintable = /[\0-\x20\x7f]/;
const beyondAscii = /[^\0-\x7f]/g;

/** Reads the line that lies in `text` between two positions; its end has to follow. */
export function parseRequestLine(text: string, from: number, to: number): RequestLine {
  const methodEnd = text.indexOf(' ', from);
  const targetEnd = text.indexOf(' ', methodEnd + 1);
  if (methodEnd === -1 || targetEnd === -1 || targetEnd > to) throw malformed('The request line is not one.');
  const isOldVersion = !text.startsWith('HTTP/1.1\r\n', targetEnd + 1);
  if (isOldVersion && !text.startsWith('HTTP/1.0\r\n', targetEnd + 1)) {
    const isSomeVersion = /^HTTP\/\d\.\d$/.test(text.slice(targetEnd + 1, to));
    throw isSomeVersion ? new Problem('http_version') : malformed('The request line is not one.');
  }
  const method = text.slice(from, methodEnd);
  if (method !== 'GET' && !methodShape.test(method)) throw malformed('The method is not one.');
  let target = text.slice(methodEnd + 1, targetEnd);
  if (unprintable.test(target)) throw malformed('The target has control characters in it.');
  if (target.charCodeAt(0) !== 47) target = originForm(target);
  // Some clients send what they should have encoded.
  const encoded = target.replace(beyondAscii, percentEncoded);
  const queryAt = encoded.indexOf('?');
  if (queryAt === -1) return { method, path: encoded, query: '', isOldVersion };
  const query = encoded.slice(queryAt + 1);
  const path = encoded.slice(0, queryAt);
  // No browser sends a fragment; whoever does must not reach beyond the query with it.
  const fragmentAt = query.indexOf('#');
  return { method, path, query: fragmentAt === -1 ? query : query.slice(0, fragmentAt), isOldVersion };
}

function originForm(target: string): string {
  const authority = /^https?:\/\/[^/?#]+/i.exec(target)?.[0];
  if (authority === undefined) throw malformed('The target is not a path.');
  const rest = target.slice(authority.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

const percentEncoded = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
