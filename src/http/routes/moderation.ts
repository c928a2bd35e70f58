/** What moderators do: look at what waits, decide about one link or many, leave notes. */

import { isSharedByStrangers } from '../../abuse/hosts.ts';
import { Problem } from '../../base/errors.ts';
import { hostIn } from '../../links/host-match.ts';
import type { ModerationContext } from '../../moderation/context.ts';
import { type Decision, decideLink } from '../../moderation/decide.ts';
import { decideMany, type Selection } from '../../moderation/decide-many.ts';
import { addNote } from '../../moderation/note.ts';
import { readCase, readQueue } from '../../moderation/queue.ts';
import { isoTime } from '../link-view.ts';
import {
  bulkDecisionAnswer,
  bulkDecisionBody,
  caseAnswer,
  decisionBody,
  noteBody,
  queueAnswer,
  queueParameters,
} from '../moderation-schemas.ts';
import { auditView, type CaseView, isoOrNull, moderatedLinkView, reviewView } from '../moderation-view.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { bodyBytesMax } from './links.ts';

export interface ModerationRoutesOptions {
  readonly moderation: ModerationContext;
  readonly baseUrl: string;
}

const onLink = ['not_found', 'link_deleted'] as const;

export function moderationRoutes({ moderation, baseUrl }: ModerationRoutesOptions): Route[] {
  const now = (): number => moderation.links.clock.now();

  async function caseView(code: string): Promise<CaseView> {
    const { link, review, reports, history } = await readCase(moderation, code);
    return {
      link: moderatedLinkView(link, baseUrl, now()),
      review: review === undefined ? null : reviewView(review, now()),
      reports: reports.map(({ category, text, at, times }) => ({ category, text, at: isoTime(at), times })),
      history: auditView(history),
    };
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/moderation/queue',
      name: 'readQueue',
      summary: 'Links that wait for a decision',
      description:
        'By risk and age: a point of risk is worth three seconds of waiting, so that nothing waits for ever.',
      auth: 'required',
      scope: 'moderate',
      limit: 'read',
      query: queueParameters,
      answers: { 200: { description: 'A page of the queue.', schema: queueAnswer } },
      problems: [],
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
      summary: 'All there is to know before deciding about a link',
      auth: 'required',
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
      description:
        'It is in force in every process when the answer is given, or within a fraction of a second.',
      auth: 'required',
      scope: 'moderate',
      limit: 'change',
      body: { schema: decisionBody, bytesMax: bodyBytesMax },
      answers: { 200: { description: 'The case after the decision.', schema: caseAnswer } },
      problems: [...onLink, 'edit_conflict'],
      async handle({ params, actor, body: { decision, reason, version } }) {
        await decideLink(moderation, actor, params.code!, { decision: meant(decision), reason, version });
        return json(await caseView(params.code!));
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/moderation/links/{code}/notes',
      name: 'noteLink',
      summary: 'Leave a note about a link',
      description: 'Notes are for moderators and are kept for ever.',
      auth: 'required',
      scope: 'moderate',
      limit: 'change',
      body: { schema: noteBody, bytesMax: bodyBytesMax },
      answers: { 201: { description: 'The case with the note.', schema: caseAnswer } },
      problems: onLink,
      async handle({ params, actor, body }) {
        await addNote(moderation, actor, params.code!, body.text);
        return json(await caseView(params.code!), 201);
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
      auth: 'required',
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
        );
        return json({ decided, unchanged, nextCursor: nextCursor ?? null });
      },
    }),
  ];
}

/** Two words for the same: what a moderator disables is blocked, because its owner could enable it otherwise. */
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
