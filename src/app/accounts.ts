/** Accounts, keys and sessions of this process: their verbs, their routes, and who a request comes from. */
import { type Credentials, createCredentials } from '../accounts/api-key.ts';
import { createAttempts } from '../accounts/attempts.ts';
import { createKeys } from '../accounts/keys.ts';
import { createMembers } from '../accounts/members.ts';
import { createPasswords } from '../accounts/passwords.ts';
import { createSessions } from '../accounts/sessions.ts';
import { createSignIn } from '../accounts/sign-in.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { createIdentity, type Identify } from '../http/identity.ts';
import type { Route } from '../http/route.ts';
import { accountRoutes } from '../http/routes/accounts.ts';
import { keyRoutes } from '../http/routes/keys.ts';
import { sessionRoutes } from '../http/routes/sessions.ts';
import type { Site } from '../http/server.ts';
import { createSessionCookie } from '../http/session-cookie.ts';
import type { Config } from './config.ts';
import type { Limits } from './limits.ts';

export interface AccountsOptions {
  readonly config: Pick<Config, 'baseUrl' | 'signup'>;
  readonly store: AccountStore;
  readonly limits: Pick<Limits, 'limiter' | 'rates'>;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Accounts {
  readonly credentials: Credentials;
  readonly identify: Identify;
  routes(site: Pick<Site, 'baseUrl'>): readonly Route[];
}

export function createAccounts({ config, store, limits, clock, random }: AccountsOptions): Accounts {
  const credentials = createCredentials(store, clock, random);
  const sessions = createSessions(store, clock, random);
  const passwords = createPasswords(random);
  // Whoever switches off the limit by address means to try things out.
  const attempts =
    limits.rates.signIn === null ? { spend: async () => {} } : createAttempts(limits.limiter, clock);
  const signIn = createSignIn({
    store,
    credentials,
    sessions,
    passwords,
    attempts,
    clock,
    random,
    signUpAllowed: config.signup,
  });
  const cookie = createSessionCookie(config.baseUrl);
  return {
    credentials,
    identify: createIdentity({ credentials, sessions, cookie }),
    routes: ({ baseUrl }) => [
      ...keyRoutes(createKeys(store, clock, random)),
      ...accountRoutes(createMembers({ store, passwords, attempts, clock, random }), baseUrl),
      ...sessionRoutes({ signIn, sessions, cookie }),
    ],
  };
}
