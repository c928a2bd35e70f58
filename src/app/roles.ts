/** What a process does, from the roles it was given. Every process tells of its health and shows its metrics. */
import type { Role } from './settings.ts';

export interface Duties {
  /** Follows short links. */
  readonly redirects: boolean;
  /** Serves the API, the dashboard and the pages. */
  readonly api: boolean;
  /** Does what nobody waits for: sweeps, counts and drains for all processes. */
  readonly background: boolean;
}

export function dutiesOf(roles: readonly Role[]): Duties {
  const has = (role: Role): boolean => roles.includes('all') || roles.includes(role);
  return { redirects: has('redirect'), api: has('api'), background: has('worker') };
}
