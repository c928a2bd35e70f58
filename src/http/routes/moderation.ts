/** The work of moderators: list the queue, decide about one link or many, leave notes. */
import { isSharedByStrangers } from '../../abuse/hosts.ts';
import type { Actor } from '../../accounts/account.ts';
import { type AuditSubject, auditSubjectKinds } from '../../audit/audit-entry.ts';
import { maybeDone, Problem } from '../../base/errors.ts';
import { hostIn } from '../../links/list-match.ts';
import { type Decision, decideLink, decideMany, type Selection } from '../../moderation/decide.ts';
import { addNote, readHistory } from '../../moderation/history.ts';
import { readCase, readQueue } from '../../moderation/queue.ts';
import type { ModerationContext } from '../../moderation/store.ts';
import { isoTime } from '../link-view.ts';
import {
  auditAnswer,
  auditParameters,
  auditView,
  bulkDecisionAnswer,
  bulkDecisionBody,
  type CaseView,
  caseAnswer,
  decisionBody,
  historyAnswer,
  historyParameters,
  isoOrNull,
  moderatedLinkView,
  noteBody,
  queueAnswer,
  queueParameters,
  type ReadNames,
  reviewView,
} from '../moderation-schemas.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { bodyBytesMax } from './links.ts';

interface ModerationRoutesOptions {
  readonly moderation: ModerationContext;
  readonly readNames: ReadNames;
  readonly baseUrl: string;
}

const onLink = ['not_found', 'link_deleted'] as const;

export function moderationRoutes({ moderation, readNames, baseUrl }: ModerationRoutesOptions): Route[] {
  const now = (): number => moderation.links.clock.now();

  async function caseView(code: string): Promise<CaseView> {
    const { link, review, reports, history } = await readCase(moderation, code);
    const { ownerId } = link;
    return {
      link: moderatedLinkView(link, baseUrl, now()),
      ownerName: ownerId === null ? null : ((await readNames([ownerId]))[ownerId] ?? null),
      review: review === undefined ? null : reviewView(review, now()),
      reports: reports.map(({ category, text, at, times }) => ({ category, text, at: isoTime(at), times })),
      history: await auditView(history, readNames),
    };
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/moderation/queue',
      name: 'readQueue',
      summary: 'List the review queue',
      description:
        'Ordered by risk and age: a point of risk is worth three seconds of waiting, so that nothing waits forever.',
      scope: 'moderate',
      limit: 'read',
      query: queueParameters,
      answers: { 200: { description: 'A page of the queue.', schema: queueAnswer } },
      async handle({ query: { limit, cursor } }) {
        const { entries, waiting, oldestAt, nextCursor } = await readQueue(moderation, { limit, cursor });
        return json({
          entries: entries.map(({ link, review }) => ({
            link: moderatedLinkView(link, baseUrl, now()),
            review: reviewView(review, now()),
          })),
          waiting,
          oldestAt: isoOrNull(oldestAt),
          nextCursor: nextCursor ?? null,
        });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/moderation/links/{code}',
      name: 'readCase',
      summary: 'Read a case',
      scope: 'moderate',
      limit: 'read',
      answers: { 200: { description: 'The case.', schema: caseAnswer } },
      problems: onLink,
      handle: async ({ params }) => json(await caseView(params.code!)),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/moderation/links/{code}/decision',
      name: 'decideLink',
      summary: 'Decide about a link',
      description: 'It is active in every process when the answer is sent, or within a fraction of a second.',
      scope: 'moderate',
      limit: 'change',
      body: { schema: decisionBody, bytesMax: bodyBytesMax },
      answers: { 200: { description: 'The case after the decision.', schema: caseAnswer } },
      problems: [...onLink, 'edit_conflict'],
      async handle({ params, actor, body: { decision, reason, version } }) {
        await decideLink(moderation, actor, params.code!, { decision: meant(decision), reason, version });
        return json(await caseView(params.code!).catch(maybeDone));
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/moderation/links/{code}/notes',
      name: 'noteLink',
      summary: 'Add a note about a link',
      description: 'Notes are for moderators and are kept forever.',
      scope: 'moderate',
      limit: 'change',
      body: { schema: noteBody, bytesMax: bodyBytesMax },
      answers: { 201: { description: 'The case with the note.', schema: caseAnswer } },
      problems: onLink,
      async handle({ params, actor, body }) {
        await addNote(moderation, actor, params.code!, body.text);
        return json(await caseView(params.code!).catch(maybeDone), 201);
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/moderation/decisions',
      name: 'decideLinks',
      summary: 'Decide about all links of an account or to a domain',
      description:
        'A call decides about up to 500 links, newest first. Repeat it with `nextCursor` until that is null; a call ' +
        'that fails half-way can be repeated.',
      scope: 'moderate',
      limit: 'change',
      body: { schema: bulkDecisionBody, bytesMax: bodyBytesMax },
      answers: { 200: { description: 'What this call has done.', schema: bulkDecisionAnswer } },
      problems: ['edit_conflict'],
      async handle({ actor, body }) {
        const input = { decision: meant(body.decision), reason: body.reason };
        const selection = selectionOf(body);
        const { decided, unchanged, nextCursor } = await decideMany(
          moderation,
          actor,
          selection,
          input,
          body.cursor,
          // Some of the links may already be decided.
        ).catch(maybeDone);
        return json({ decided, unchanged, nextCursor: nextCursor ?? null });
      },
    }),
  ];
}

/**
 * Two names for the same action: a moderator's "disable" blocks the link, because its owner could enable it otherwise.
 */
function meant(decision: Decision | 'disable'): Decision {
  return decision === 'disable' ? 'block' : decision;
}

function selectionOf({
  accountId,
  domain = '',
}: {
  accountId?: string | undefined;
  domain?: string | undefined;
}): Selection {
  if (accountId !== undefined) return { kind: 'account', id: accountId };
  const id = hostIn(domain);
  if (id === undefined) throw invalidDomain('is not a domain');
  if (isSharedByStrangers(id)) throw invalidDomain('holds the names of many people; name one of theirs');
  return { kind: 'domain', id };
}

function invalidDomain(what: string): Problem {
  return new Problem('invalid_request', { detail: `“domain” ${what}.`, fields: { field: 'domain' } });
}

/** Only admins see entries about accounts and keys. */
const moderatorsKinds: readonly AuditSubject['kind'][] = ['link', 'report', 'domain'];

/** Reading the audit log: all of it for operators, a link's own part for its owner. */
export function auditRoutes({
  moderation,
  readNames,
}: Pick<ModerationRoutesOptions, 'moderation' | 'readNames'>): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/audit',
      name: 'readAudit',
      summary: 'Read the audit log',
      description:
        'Newest first. Moderators see what was done to links; admins see accounts and keys too. A page may ' +
        'be short and still have a `nextCursor`: continue until it is null.',
      scope: 'moderate',
      limit: 'read',
      query: auditParameters,
      answers: { 200: { description: 'A page of entries.', schema: auditAnswer } },
      async handle({ actor, query }) {
        const { limit, cursor, subjectKind, subjectId, accountId, action, from, to } = query;
        const subjectKinds = kindsFor(actor, subjectKind);
        const page = { limit, cursor, subjectKinds, subjectId, accountId, action, fromMs: from, toMs: to };
        return json(await auditView(await moderation.audit.query(page), readNames));
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/links/{code}/history',
      name: 'readHistory',
      summary: 'History of a link',
      description: 'Newest first, back to its creation; also of a link that is deleted.',
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
  throw new Problem('forbidden', { detail: 'Only admins see changes of accounts and keys.' });
}
