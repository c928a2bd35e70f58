/**
 * The cookie that carries a session, and whether a request that carries it comes from our own pages; and the cookie
 * that makes a browser a known device.
 *
 * The cookie is unreadable to scripts and sent to us alone. `SameSite=Strict` costs nothing here: the dashboard's page
 * needs no session, only the calls it makes do, and those come from our own site. Browsers that know SameSite thereby
 * send no cookie with another site's requests; that a request which changes something must also prove its origin does
 * not depend on it, and covers neighbours on the same registrable domain. Keys are sent by intention and need no proof.
 */
import { deviceLifeMs } from '../accounts/known-devices.ts';
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

/** A browser with it is a known device of the account whose token it has; it opens nothing by itself. */
export interface DeviceCookie {
  tokenOf(headers: Headers): string | undefined;
  /** Gives the browser the token with this response, if there is one. */
  keepWith(response: Response, token: string | undefined): void;
}

const tokenPattern = /^[\w-]{1,128}$/;

export function createDeviceCookie(baseUrl: string): DeviceCookie {
  const { keep, valuesIn } = strictCookie('terse_device', baseUrl);
  return {
    tokenOf: headers => valuesIn(headers)[0],
    keepWith(response, token) {
      if (token !== undefined) response.headers.append('Set-Cookie', keep(token, deviceLifeMs));
    },
  };
}

export function createSessionCookie(baseUrl: string): SessionCookie {
  const { origin: baseOrigin } = new URL(baseUrl);
  const { name, isSecure, keep, valuesIn } = strictCookie('terse_session', baseUrl);

  return {
    name,
    keep,
    forget: keep('', 0),
    tokenOf(headers) {
      const given = valuesIn(headers);
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

/** A cookie for our own pages only, which no script can read. */
function strictCookie(plainName: string, baseUrl: string) {
  const isSecure = new URL(baseUrl).protocol === 'https:';
  // With the prefix a browser accepts the cookie over TLS only, from this very host and for all of it.
  const name = isSecure ? `__Host-${plainName}` : plainName;
  const attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  return {
    name,
    isSecure,
    keep: (value: string, maxAgeMs: number): string =>
      `${name}=${value}; ${attributes}; Max-Age=${Math.floor(maxAgeMs / 1_000)}`,
    valuesIn: (headers: Headers): string[] =>
      (headers.get('cookie') ?? '')
        .split(';')
        .map(pair => pair.trim())
        .filter(pair => pair.startsWith(`${name}=`))
        .map(pair => pair.slice(name.length + 1)),
  };
}

/** For requests that need no session but start one: another site must not sign its visitors in as someone else. */
export function refuseForeign(cookie: SessionCookie, { headers }: Request): void {
  const isFromBrowser = headers.has('origin') || headers.has('sec-fetch-site');
  if (isFromBrowser && !cookie.isOurs(headers)) throw foreignOrigin();
}

export const foreignOrigin = (): Problem =>
  new Problem('foreign_origin', { detail: 'Only pages of this server may do that for you.' });
