/**
 * The other names under which clients of other shorteners know our API. They are the same call: paths lead to
 * the same handler, fields are renamed before anything looks at them.
 */
import { Problem } from '../base/errors.ts';

export const pathSpellings: Readonly<Record<string, readonly string[]>> = {
  '/api/v1/links': ['/api/v1/urls', '/api/v1/shorten', '/v1/links', '/shorten'],
};

export const fieldSpellings: Readonly<Record<string, string>> = {
  long_url: 'longUrl',
  url: 'longUrl',
  custom_alias: 'customAlias',
  custom_code: 'customAlias',
  expires_at: 'expiresAt',
};

/** All paths of a route, the canonical one first; whatever lies below a path is spelled in the same ways. */
export function spellingsOf(path: string): string[] {
  for (const [canonical, others] of Object.entries(pathSpellings)) {
    if (path !== canonical && !path.startsWith(`${canonical}/`)) continue;
    return [path, ...others.map(other => other + path.slice(canonical.length))];
  }
  return [path];
}

/** A body with canonical field names. One field under two names is a contradiction, not a choice. */
export function withCanonicalFields(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const entries = Object.entries(body);
  if (!entries.some(([name]) => Object.hasOwn(fieldSpellings, name))) return body;
  const canonical = new Map<string, unknown>();
  for (const [name, value] of entries) {
    const field = Object.hasOwn(fieldSpellings, name) ? fieldSpellings[name]! : name;
    if (canonical.has(field)) {
      throw new Problem('invalid_request', {
        detail: `“${field}” is given under two names.`,
        fields: { field },
      });
    }
    canonical.set(field, value);
  }
  return Object.fromEntries(canonical);
}
