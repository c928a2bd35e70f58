/** Links, reviews and audit entries as moderators see them. */
import type { z } from 'zod';
import type { AuditEntry } from '../base/audit-entry.ts';
import { type Link, stateOf } from '../links/link.ts';
import type { AuditPage } from '../moderation/audit.ts';
import { decisionDueMs, type Review } from '../moderation/review.ts';
import { isoTime } from './link-view.ts';
import type { auditAnswer, caseAnswer, queueAnswer } from './moderation-schemas.ts';

type QueueEntry = z.output<typeof queueAnswer>['entries'][number];

export const isoOrNull = (timeMs: number | null): string | null => (timeMs === null ? null : isoTime(timeMs));

export function moderatedLinkView(link: Link, baseUrl: string, now: number): QueueEntry['link'] {
  const { code, longUrl, title, createdAt, ownerId, version, risk } = link;
  const state = stateOf(link, now);
  return {
    shortCode: code,
    shortUrl: `${baseUrl}/${code}`,
    longUrl,
    // Deleted links are not shown: nothing is left to decide about them.
    status: state === 'deleted' ? 'disabled' : state,
    title,
    createdAt: isoTime(createdAt),
    ownerId,
    version,
    risk: risk && { score: risk.score, reasons: [...risk.reasons] },
  };
}

export function reviewView(review: Review, now: number): QueueEntry['review'] {
  const { openedAt, score, reporters, appeal, decidedAt } = review;
  return {
    waitingSince: isoOrNull(openedAt),
    overdue: openedAt !== null && now - openedAt > decisionDueMs,
    score,
    reporters,
    appeal: appeal && { at: isoTime(appeal.at), text: appeal.text },
    decidedAt: isoOrNull(decidedAt),
  };
}

export function auditView({ entries, nextCursor }: AuditPage): z.output<typeof auditAnswer> {
  return { entries: entries.map(auditEntryView), nextCursor: nextCursor ?? null };
}

function auditEntryView({ id, at, actor, action, subject, before, after, reason }: AuditEntry) {
  return { id, at: isoTime(at), actor, action, subject, before, after, reason };
}

export type CaseView = z.output<typeof caseAnswer>;
