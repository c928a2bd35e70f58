/** Reading the audit trail: all of it for those who run the server, a link's own part for its owner. */
import type { Actor } from '../../accounts/account.ts';
import { type AuditSubject, auditSubjectKinds } from '../../base/audit-entry.ts';
import { Problem } from '../../base/errors.ts';
import type { ModerationContext } from '../../moderation/context.ts';
import { readHistory } from '../../moderation/history.ts';
import { isoTime } from '../link-view.ts';
import { auditAnswer, auditParameters, historyAnswer, historyParameters } from '../moderation-schemas.ts';
import { auditView } from '../moderation-view.ts';
import { defineRoute, json, type Route } from '../route.ts';

/** Accounts and keys are the admins' business. */
const moderatorsKinds: readonly AuditSubject['kind'][] = ['link', 'report', 'domain'];

export function auditRoutes(moderation: ModerationContext): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/audit',
      name: 'readAudit',
      summary: 'Who changed what, when and why',
      description:
        'Newest first. Moderators see what was done to links; admins see accounts and keys too. A rare match may ' +
        'give a short page that still has a `nextCursor`: go on until it is null.',
      auth: 'required',
      scope: 'moderate',
      limit: 'read',
      query: auditParameters,
      answers: { 200: { description: 'A page of entries.', schema: auditAnswer } },
      problems: [],
      async handle({ actor, query }) {
        const { limit, cursor, subjectKind, subjectId, accountId, action, from, to } = query;
        const subjectKinds = kindsFor(actor, subjectKind);
        const page = { limit, cursor, subjectKinds, subjectId, accountId, action, fromMs: from, toMs: to };
        return json(auditView(await moderation.audit.query(page)));
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/links/{code}/history',
      name: 'readHistory',
      summary: 'What was done to a link of yours',
      description: 'Newest first, back to its creation; also of a link that is deleted.',
      auth: 'required',
      scope: 'links:read',
      limit: 'read',
      query: historyParameters,
      answers: { 200: { description: 'A page of changes.', schema: historyAnswer } },
      problems: ['not_found'],
      async handle({ actor, params, query: { limit, cursor } }) {
        const { entries, nextCursor } = await readHistory(moderation, actor, params.code!, { limit, cursor });
        return json({
          entries: entries.map(entry => ({ ...entry, at: isoTime(entry.at) })),
          nextCursor: nextCursor ?? null,
        });
      },
    }),
  ];
}

/** Undefined for all kinds. */
function kindsFor(
  actor: Actor,
  wanted: AuditSubject['kind'] | undefined,
): readonly AuditSubject['kind'][] | undefined {
  const isAdmin = actor.kind === 'account' && actor.isAdmin;
  const allowed = isAdmin ? auditSubjectKinds : moderatorsKinds;
  if (wanted === undefined) return isAdmin ? undefined : allowed;
  if (allowed.includes(wanted)) return [wanted];
  throw new Problem('forbidden', { detail: 'What was done to accounts and keys is for admins.' });
}
