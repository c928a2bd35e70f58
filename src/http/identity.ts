/**
 * The caller of a request: an API key if it carries one, otherwise a session, otherwise anonymous. A credential must be
 * valid even where none is needed: a caller who believes to be signed in must not act anonymously.
 */
import { type Actor, anonymous } from '../accounts/account.ts';
import type { Credentials } from '../accounts/api-key.ts';
import type { Sessions } from '../accounts/sessions.ts';
import { deviceLifeMs } from '../accounts/sign-in.ts';
import { Problem } from '../base/errors.ts';
import { following, type NowOrLater } from '../base/now-or-later.ts';
import type { ApiRequest, RequestHeaders } from './api-request.ts';
import type { Route } from './route.ts';

export type Identify = (route: Pick<Route, 'auth' | 'scope'>, request: ApiRequest) => NowOrLater<Actor>;

interface IdentityOptions {
  readonly credentials: Pick<Credentials, 'authenticate'>;
  readonly sessions: Pick<Sessions, 'authenticate'>;
  readonly cookie: SessionCookie;
}

export function createIdentity({ credentials, sessions, cookie }: IdentityOptions): Identify {
  const actorOf = (request: ApiRequest): Promise<Actor> => {
    const secret = secretOf(request.headers);
    return secret === undefined ? actorOfSession(request) : credentials.authenticate(secret);
  };
  const actorOfSession = async (request: ApiRequest): Promise<Actor> => {
    try {
      const token = cookie.tokenOf(request.headers);
      if (token === undefined) return anonymous;
      if (changesSomething(request) && !cookie.isOurs(request.headers)) throw foreignOrigin();
      return await sessions.authenticate(token);
    } catch (error) {
      // A browser sends the cookie by itself, so the response must delete one that is no longer valid.
      if (error instanceof Problem && error.code === 'unauthorized')
        error.headers['Set-Cookie'] = cookie.forget;
      throw error;
    }
  };

  return (route, request) =>
    route.auth === 'none' ? anonymous : following(actorOf(request), actor => permitted(route, actor));
}

/** Returns the caller if the route admits it, and throws otherwise. */
function permitted(route: Pick<Route, 'auth' | 'scope'>, actor: Actor): Actor {
  if (actor.kind === 'anonymous') {
    if (route.auth === 'optional') return actor;
    throw new Problem('unauthorized', {
      detail: 'Send your API key as “Authorization: Bearer KEY”, “Authorization: KEY” or “X-Api-Key: KEY”.',
    });
  }
  if (route.scope === undefined || actor.scopes.has(route.scope)) return actor;
  throw new Problem('forbidden', { detail: `This needs the scope “${route.scope}”.` });
}

const changesSomething = ({ method }: ApiRequest): boolean => method !== 'GET' && method !== 'HEAD';

const secretLengthMax = 512;

/** Undefined when no credential was sent at all; a malformed one is rejected. */
function secretOf(headers: RequestHeaders): string | undefined {
  const authorization = headers.get('authorization');
  const apiKey = headers.get('x-api-key');
  if (authorization === null && apiKey === null) return undefined;
  const bearer = authorization === null ? undefined : /^(?:Bearer +)?(\S+) *$/i.exec(authorization)?.[1];
  const secret = authorization === null ? apiKey : bearer;
  const contradicts = authorization !== null && apiKey !== null && apiKey !== bearer;
  if (!secret || contradicts || secret.length > secretLengthMax) {
    throw new Problem('unauthorized', {
      detail: 'The API key was not sent as “Bearer KEY”, “KEY” or “X-Api-Key: KEY”.',
    });
  }
  return secret;
}

export interface SessionCookie {
  readonly name: string;
  /** The token that the request carries; undefined when it carries none. */
  tokenOf(headers: RequestHeaders): string | undefined;
  /** A `Set-Cookie` that keeps the token this long, or until the browser closes if that is sooner. */
  keep(token: string, maxAgeMs: number): string;
  /** A `Set-Cookie` that makes the browser delete it. */
  readonly forget: string;
  /** Whether the request proves, in a way no other site can, that it comes from a page of ours. */
  isOurs(headers: RequestHeaders): boolean;
}

/** A browser with this cookie is a known device of the account in its token; it grants nothing by itself. */
export interface DeviceCookie {
  tokenOf(headers: RequestHeaders): string | undefined;
  /** Sets the token in this response, if there is one. */
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
      throw new Problem('unauthorized', { detail: 'The session cookie is not valid.' });
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

/**
 * A cookie that scripts cannot read and that browsers send to us alone. `SameSite=Strict` costs nothing here: the
 * dashboard's page needs no session, only the calls it makes do, and those come from our own site. The proof of origin
 * that every write needs (`isOurs`) does not depend on it, and covers neighbours on the same registrable domain. Keys
 * are sent on purpose and need no proof.
 */
function strictCookie(plainName: string, baseUrl: string) {
  const isSecure = new URL(baseUrl).protocol === 'https:';
  // With this prefix a browser accepts the cookie only over TLS, from exactly this host and for all of it.
  const name = isSecure ? `__Host-${plainName}` : plainName;
  const attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  return {
    name,
    isSecure,
    keep: (value: string, maxAgeMs: number): string =>
      `${name}=${value}; ${attributes}; Max-Age=${Math.floor(maxAgeMs / 1_000)}`,
    valuesIn: (headers: RequestHeaders): string[] =>
      (headers.get('cookie') ?? '')
        .split(';')
        .map(pair => pair.trim())
        .filter(pair => pair.startsWith(`${name}=`))
        .map(pair => pair.slice(name.length + 1)),
  };
}

/** For requests that need no session but start one: another site must not sign its visitors in as someone else. */
export function refuseForeign(cookie: SessionCookie, { headers }: Pick<ApiRequest, 'headers'>): void {
  const isFromBrowser = headers.has('origin') || headers.has('sec-fetch-site');
  if (isFromBrowser && !cookie.isOurs(headers)) throw foreignOrigin();
}

const foreignOrigin = (): Problem =>
  new Problem('foreign_origin', { detail: 'Only pages of this server may send this request.' });
