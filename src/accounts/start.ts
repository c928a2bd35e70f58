/** Accounts, keys and sessions of this process: their verbs and metrics. */

import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { deriveKey } from '../codes/derived-key.ts';
import type { Config } from '../config/config.ts';
import type { Limits } from '../limits/start.ts';
import { oneValue } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';
import { type Credentials, createCredentials } from './api-key.ts';
import { createAttempts } from './attempts.ts';
import { createKeys, type Keys } from './keys.ts';
import { createMembers, type Members } from './members.ts';
import { createPasswords } from './passwords.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { createKnownDevices, createSignIn, type KnownDevices, type SignIn } from './sign-in.ts';
import type { AccountStore } from './store.ts';

export interface AccountsOptions {
  readonly config: Pick<Config, 'signup'>;
  readonly store: AccountStore;
  readonly limits: Pick<Limits, 'limiter' | 'rates' | 'noteLimited'>;
  readonly secret: Uint8Array;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Accounts {
  readonly credentials: Credentials;
  readonly sessions: Sessions;
  readonly keys: Keys;
  readonly members: Members;
  readonly devices: KnownDevices;
  readonly signIn: SignIn;
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
  const keys = createKeys(store, clock, random);
  return {
    credentials,
    sessions,
    keys,
    members,
    devices,
    signIn,
    metrics: () => [
      oneValue('terse_passwords_waiting', passwords.waiting),
      oneValue('terse_passwords_rejected_total', passwords.refused),
    ],
  };
}
