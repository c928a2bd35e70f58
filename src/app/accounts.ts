/** Accounts, keys and sessions of this process: their verbs, their routes, and who a request comes from. */
import { type Credentials, createCredentials } from '../accounts/api-key.ts';
import { createAttempts } from '../accounts/attempts.ts';
import { createKeys } from '../accounts/keys.ts';
import { createKnownDevices } from '../accounts/known-devices.ts';
import { createMembers } from '../accounts/members.ts';
import { createPasswords } from '../accounts/passwords.ts';
import { createSessions } from '../accounts/sessions.ts';
import { createSignIn } from '../accounts/sign-in.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { deriveKey } from '../codes/derived-key.ts';
import { createIdentity, type Identify } from '../http/identity.ts';
import type { Route } from '../http/route.ts';
import { accountRoutes } from '../http/routes/accounts.ts';
import { keyRoutes } from '../http/routes/keys.ts';
import { sessionRoutes } from '../http/routes/sessions.ts';
import type { Site } from '../http/server.ts';
import { createDeviceCookie, createSessionCookie } from '../http/session-cookie.ts';
import type { Metric } from '../ops/metrics.ts';
import type { Config } from './config.ts';
import type { Limits } from './limits.ts';
import { oneValue } from './metric-table.ts';

export interface AccountsOptions {
  readonly config: Pick<Config, 'baseUrl' | 'signup'>;
  readonly store: AccountStore;
  readonly limits: Pick<Limits, 'limiter' | 'rates' | 'noteLimited'>;
  readonly secret: Uint8Array;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Accounts {
  readonly credentials: Credentials;
  readonly identify: Identify;
  routes(site: Site): readonly Route[];
  metrics(): Metric[];
}

export function createAccounts(options: AccountsOptions): Accounts {
  const { config, store, limits, secret, clock, random } = options;
  const credentials = createCredentials(store, clock, random);
  const sessions = createSessions(store, clock, random);
  const passwords = createPasswords({ random, clock });
  const devices = createKnownDevices(deriveKey(secret, 'known devices'), clock, random);
  const { limiter, rates, noteLimited } = limits;
  const attempts = createAttempts({ limiter, rates, clock, onLimited: noteLimited });
  const signIn = createSignIn({
    store,
    credentials,
    sessions,
    passwords,
    attempts,
    devices,
    clock,
    random,
    signUpAllowed: config.signup,
  });
  const members = createMembers({ store, passwords, attempts, clock, random });
  const cookie = createSessionCookie(config.baseUrl);
  const deviceCookie = createDeviceCookie(config.baseUrl);
  return {
    credentials,
    identify: createIdentity({ credentials, sessions, cookie }),
    routes: site => [
      ...keyRoutes(createKeys(store, clock, random)),
      ...accountRoutes({ members, devices, deviceCookie, site }),
      ...sessionRoutes({ signIn, sessions, cookie, deviceCookie, site }),
    ],
    metrics: () => [
      oneValue('terse_passwords_waiting', passwords.waiting),
      oneValue('terse_passwords_refused_total', passwords.refused),
    ],
  };
}
