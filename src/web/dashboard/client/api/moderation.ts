/** The calls of moderators. */
import { request } from './request.ts';
import type { LinkStatus } from './types.ts';

export interface ModeratedLink {
  readonly shortCode: string;
  readonly shortUrl: string;
  readonly longUrl: string;
  readonly status: LinkStatus;
  readonly title: string | null;
  readonly createdAt: string;
  readonly ownerId: string | null;
  readonly version: number;
  readonly risk: { readonly score: number; readonly reasons: readonly string[] } | null;
}

export interface Review {
  readonly waitingSince: string | null;
  readonly overdue: boolean;
  readonly score: number;
  readonly reporters: number;
  readonly appeal: { readonly at: string; readonly text: string } | null;
  readonly decidedAt: string | null;
}

export interface QueueEntry {
  readonly link: ModeratedLink;
  readonly review: Review;
}

export interface Queue {
  readonly entries: readonly QueueEntry[];
  readonly waiting: number;
  readonly oldestAt: string | null;
  readonly nextCursor: string | null;
}

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  readonly actor: { readonly kind: string; readonly accountId: string | null; readonly keyId: string | null };
  readonly action: string;
  readonly subject: { readonly kind: string; readonly id: string };
  readonly before: unknown;
  readonly after: unknown;
  readonly reason: string | null;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly nextCursor: string | null;
}

export interface Case {
  readonly link: ModeratedLink;
  readonly review: Review | null;
  readonly reports: readonly {
    readonly category: string;
    readonly text: string | null;
    readonly at: string;
    readonly times: number;
  }[];
  readonly history: AuditPage;
}

export type Decision = 'allow' | 'quarantine' | 'block';

const casePath = (code: string): string => `/api/v1/moderation/links/${encodeURIComponent(code)}`;

export const readQueue = (signal: AbortSignal): Promise<Queue> =>
  request('GET', '/api/v1/moderation/queue', { query: { limit: 100 }, signal });

export const readCase = (code: string, signal: AbortSignal): Promise<Case> =>
  request('GET', casePath(code), { signal });

export const decide = (link: ModeratedLink, decision: Decision, reason: string): Promise<Case> =>
  request('POST', `${casePath(link.shortCode)}/decision`, {
    body: { decision, reason, version: link.version },
  });

export const addNote = (code: string, text: string): Promise<Case> =>
  request('POST', `${casePath(code)}/notes`, { body: { text } });

export interface AuditQuery {
  readonly subjectKind?: string | undefined;
  readonly subjectId?: string | undefined;
  readonly action?: string | undefined;
  readonly cursor?: string | undefined;
}

export const readAudit = (query: AuditQuery, signal: AbortSignal): Promise<AuditPage> =>
  request('GET', '/api/v1/audit', { query: { limit: 50, ...query }, signal });

export const appeal = (code: string, text: string): Promise<void> =>
  request('POST', `/api/v1/links/${encodeURIComponent(code)}/appeal`, { body: { text } });
