/** The rules that creating and editing share: which destination and which expiry a link may have. */
import { Problem } from '../base/errors.ts';
import type { LinkContext } from './context.ts';

/** The destination as it will be stored: parsed, judged, serialised. */
export function acceptUrl(context: LinkContext, longUrl: string): string {
  const verdict = context.urlPolicy.judge(longUrl);
  if (verdict.ok) return verdict.url;
  throw new Problem('invalid_url', {
    detail: verdict.detail,
    fields: { field: 'longUrl', reason: verdict.reason },
  });
}

export function acceptExpiry(context: LinkContext, expiresAt: number | null): number | null {
  if (expiresAt === null || expiresAt > context.clock.now()) return expiresAt;
  throw new Problem('invalid_expiry', {
    detail: 'The expiry must lie in the future.',
    fields: { field: 'expiresAt' },
  });
}
