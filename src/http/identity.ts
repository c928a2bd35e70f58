/**
 * Who a request comes from: an API key if it carries one, otherwise a session, otherwise nobody. What is carried must
 * be valid, also where nothing is needed: whoever believes to act as themselves must not act as a stranger.
 */
import { type Actor, anonymous } from '../accounts/account.ts';
import type { Credentials } from '../accounts/api-key.ts';
import type { Sessions } from '../accounts/sessions.ts';
import { Problem } from '../base/errors.ts';
import type { Route } from './route.ts';
import { foreignOrigin, type SessionCookie } from './session-cookie.ts';

export type Identify = (route: Pick<Route, 'auth' | 'scope'>, request: Request) => Promise<Actor>;

export interface IdentityOptions {
  readonly credentials: Pick<Credentials, 'authenticate'>;
  readonly sessions: Pick<Sessions, 'authenticate'>;
  readonly cookie: SessionCookie;
}

export function createIdentity({ credentials, sessions, cookie }: IdentityOptions): Identify {
  const actorOf = async (request: Request): Promise<Actor> => {
    const secret = secretOf(request.headers);
    if (secret !== undefined) return credentials.authenticate(secret);
    try {
      const token = cookie.tokenOf(request.headers);
      if (token === undefined) return anonymous;
      if (changesSomething(request) && !cookie.isOurs(request.headers)) throw foreignOrigin();
      return await sessions.authenticate(token);
    } catch (error) {
      // A browser sends the cookie by itself, so it has to be told to forget one that is worth nothing.
      if (error instanceof Problem && error.code === 'unauthorized')
        error.headers['Set-Cookie'] = cookie.forget;
      throw error;
    }
  };

  return async (route, request) => {
    if (route.auth === 'none') return anonymous;
    const actor = await actorOf(request);
    if (actor.kind === 'anonymous') {
      if (route.auth === 'optional') return actor;
      throw new Problem('unauthorized', {
        detail: 'Send your API key as “Authorization: Bearer KEY”, “Authorization: KEY” or “X-Api-Key: KEY”.',
      });
    }
    if (route.scope === undefined || actor.scopes.has(route.scope)) return actor;
    throw new Problem('forbidden', { detail: `This needs the scope “${route.scope}”.` });
  };
}

const changesSomething = ({ method }: Request): boolean => method !== 'GET' && method !== 'HEAD';

const secretLengthMax = 512;

/** Undefined when no credential was sent at all; one that is sent in any odd way is refused. */
function secretOf(headers: Headers): string | undefined {
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
