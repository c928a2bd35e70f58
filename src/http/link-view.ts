/** A link as the API shows it. */
import type { z } from 'zod';
import type { HealthRecord } from '../health/health.ts';
import { flagsOf } from '../links/fields.ts';
import { type Link, stateOf } from '../links/link.ts';
import type { linkAnswer } from './schemas.ts';

export type LinkAnswer = z.output<typeof linkAnswer>;

/** `clicks` is null when the count is unknown. */
export function viewOf(link: Link, baseUrl: string, now: number, clicks: number | null): LinkAnswer {
  const state = stateOf(link, now);
  return {
    shortCode: link.code,
    shortUrl: `${baseUrl}/${link.code}`,
    longUrl: link.longUrl,
    // Deleted links are not shown; a caller who may see one gets 410 before this runs.
    status: state === 'deleted' ? 'disabled' : state,
    createdAt: isoTime(link.createdAt),
    updatedAt: isoTime(link.updatedAt),
    expiresAt: link.expiresAt === null ? null : isoTime(link.expiresAt),
    title: link.title,
    tags: [...link.tags],
    redirectType: link.redirectType,
    ...flagsOf(link),
    statsTokensFrom: link.statsTokensFrom === null ? null : isoTime(link.statsTokensFrom),
    maxClicks: link.maxClicks,
    usedClicks: link.usedClicks,
    clicks,
    custom: link.origin === 'custom',
  };
}

/** Null while the count is unknown. */
export function healthView(record: HealthRecord | undefined): LinkAnswer['health'] {
  if (record === undefined) return null;
  const { checkedAt, failingSince, httpStatus, reason } = record;
  return {
    status: failingSince === null ? 'ok' : 'failing',
    checkedAt: isoTime(checkedAt),
    failingSince: failingSince === null ? null : isoTime(failingSince),
    httpStatus,
    reason,
  };
}

let lastTimeMs = Number.NaN;
let lastTimeText = '';

/** Remembers the last text, because links created together, and both times of a new link, are equal. */
export function isoTime(timeMs: number): string {
  if (timeMs !== lastTimeMs) {
    lastTimeText = new Date(timeMs).toISOString();
    lastTimeMs = timeMs;
  }
  return lastTimeText;
}
