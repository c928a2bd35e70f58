/**
 * The cookie that carries a session, and whether a request that carries it comes from our own pages.
 *
 * The cookie is unreadable to scripts and sent to us alone. `SameSite=Strict` costs nothing here: the dashboard's page
 * needs no session, only the calls it makes do, and those come from our own site. Browsers that know SameSite thereby
 * send no cookie with another site's requests; that a request which changes something must also prove its origin does
 * not depend on it, and covers neighbours on the same registrable domain. Keys are sent by intention and need no proof.
 */
import { Problem } from '../base/errors.ts';

export interface SessionCookie {
  readonly name: string;
  /** The token that the request carries; undefined when it carries none. */
  tokenOf(headers: Headers): string | undefined;
  /** A `Set-Cookie` that keeps the token for so long, or until the browser closes if it forgets sooner. */
  keep(token: string, maxAgeMs: number): string;
  /** A `Set-Cookie` that makes the browser forget it. */
  readonly forget: string;
  /** Whether the request says, in a way no other site can, that it comes from a page of ours. */
  isOurs(headers: Headers): boolean;
}

const tokenPattern = /^[\w-]{1,128}$/;

export function createSessionCookie(baseUrl: string): SessionCookie {
  const { protocol, origin: baseOrigin } = new URL(baseUrl);
  const isSecure = protocol === 'https:';
  // With the prefix a browser accepts the cookie over TLS only, from this very host and for all of it.
  const name = isSecure ? '__Host-terse_session' : 'terse_session';
  const attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;

  return {
    name,
    keep: (token, maxAgeMs) => `${name}=${token}; ${attributes}; Max-Age=${Math.floor(maxAgeMs / 1_000)}`,
    forget: `${name}=; ${attributes}; Max-Age=0`,
    tokenOf(headers) {
      const given = (headers.get('cookie') ?? '')
        .split(';')
        .map(pair => pair.trim())
        .filter(pair => pair.startsWith(`${name}=`))
        .map(pair => pair.slice(name.length + 1));
      if (given.length === 0) return undefined;
      const [token = '', ...more] = given;
      if (more.length === 0 && tokenPattern.test(token)) return token;
      throw new Problem('unauthorized', { detail: 'The session cookie is not one of ours.' });
    },
    isOurs(headers) {
      const fetchSite = headers.get('sec-fetch-site');
      if (fetchSite !== null) return fetchSite === 'same-origin';
      const origin = headers.get('origin');
      const host = headers.get('host');
      if (origin === null || host === null) return false;
      // Also under an address that the settings do not name, such as a loopback one or a further domain.
      const own = [baseOrigin, `https://${host}`, ...(isSecure ? [] : [`http://${host}`])];
      return own.includes(origin.toLowerCase());
    },
  };
}

/** For requests that need no session but start one: another site must not sign its visitors in as someone else. */
export function refuseForeign(cookie: SessionCookie, { headers }: Request): void {
  const isFromBrowser = headers.has('origin') || headers.has('sec-fetch-site');
  if (isFromBrowser && !cookie.isOurs(headers)) throw foreignOrigin();
}

export const foreignOrigin = (): Problem =>
  new Problem('foreign_origin', { detail: 'Only pages of this server may do that for you.' });
