/** What is asked and answered about moderation: reports, the queue, decisions, the audit trail. */
import { z } from 'zod';
import { auditSubjectKinds } from '../base/audit-entry.ts';
import { codePattern } from '../links/link.ts';
import { reportCategories } from '../moderation/store.ts';
import { linkAnswer, moment, text, time, upTo, wholeNumber } from './schemas.ts';

const { shortCode, shortUrl, longUrl, status, createdAt } = linkAnswer.shape;

const cursor = upTo(80).optional().meta({ description: '`nextCursor` of the page before.' });
const nextCursor = z.string().nullable().meta({ description: 'For the next page; null on the last.' });
const pageOf = (what: string) => ({
  limit: wholeNumber({ min: 1, max: 100, default: 50 }).meta({ description: `${what} per page.` }),
  cursor,
});

const words = (lengthMax: number) => text(1, lengthMax);
const reason = words(1_000).meta({ description: 'Why. The owner of the link gets to read it.' });

export const reportBody = z
  .strictObject({
    shortCode: upTo(64)
      .regex(codePattern, 'is not the code of a short link')
      .meta({ description: 'The code of the link.', examples: ['aZ3kQ9x'] }),
    category: z.enum(reportCategories).meta({ description: 'What is wrong with it.' }),
    text: text(0, 2_000)
      .optional()
      .meta({
        description: 'What you saw, in your words.',
        examples: ['It asks for the password of my bank.'],
      }),
  })
  .meta({ id: 'NewReport' });

export const reportAnswer = z.strictObject({
  status: z.literal('received').meta({ description: 'A person will look at it.' }),
});

export const reportPageParameters = z.strictObject({
  code: upTo(200).optional().meta({ description: 'The code to fill in.' }),
});

export const appealBody = z.strictObject({
  text: words(2_000).meta({
    description: 'Why the link should be let go.',
    examples: ['This is the sign-in page of my own shop.'],
  }),
});

export const appealAnswer = z.strictObject({ status: z.literal('received') });

const decision = z
  .enum(['allow', 'quarantine', 'block', 'disable'])
  .meta({ description: '`quarantine` warns visitors first; `block`, or `disable`, answers 410.' });

export const decisionBody = z.strictObject({
  decision,
  reason,
  version: z.int().min(1).max(1_000_000_000).meta({
    description: 'The `version` that was looked at; if the link was changed since, nothing is decided.',
  }),
});

export const bulkDecisionBody = z
  .strictObject({
    accountId: words(64).optional().meta({ description: 'All links of this account.' }),
    domain: words(253)
      .optional()
      .meta({ description: 'All links to this domain and below it.', examples: ['evil.example'] }),
    decision,
    reason,
    cursor,
  })
  .refine(
    body => (body.accountId === undefined) !== (body.domain === undefined),
    'names an accountId or a domain, and not both',
  )
  .meta({ id: 'BulkDecision' });

export const bulkDecisionAnswer = z.strictObject({
  decided: z.int().min(0).meta({ description: 'Links that this call changed.' }),
  unchanged: z.int().min(0).meta({ description: 'Links that were as decided already.' }),
  nextCursor: z
    .string()
    .nullable()
    .meta({ description: 'Repeat the call with it as `cursor`; null when all links are done.' }),
});

export const noteBody = z.strictObject({
  text: words(2_000).meta({ description: 'For moderators only.' }),
});

export const queueParameters = z.strictObject(pageOf('Links'));
export const historyParameters = z.strictObject(pageOf('Changes'));

const reviewAnswer = z
  .strictObject({
    waitingSince: time('Since when it waits for a decision; null if it does not.').nullable(),
    overdue: z.boolean().meta({ description: 'Whether it waits for more than five minutes.' }),
    score: z.int().min(0).max(100).meta({ description: 'How much speaks for looking at it soon.' }),
    reporters: z.int().min(0).meta({ description: 'How many have reported it since the last decision.' }),
    appeal: z
      .strictObject({ at: time('When the owner appealed.'), text: z.string() })
      .nullable()
      .meta({ description: 'What the owner says; null when there is no open appeal.' }),
    decidedAt: time('When it was last decided; null for never.').nullable(),
  })
  .meta({ id: 'Review' });

const moderatedLink = z
  .strictObject({
    shortCode,
    shortUrl,
    longUrl,
    status,
    title: linkAnswer.shape.title,
    createdAt,
    ownerId: z.string().nullable().meta({ description: 'The account; null for a link made without one.' }),
    version: z.int().min(1).meta({ description: 'To be named in a decision.' }),
    risk: z
      .strictObject({ score: z.number(), reasons: z.array(z.string()) })
      .nullable()
      .meta({ description: 'What spoke against the destination when it was judged.' }),
  })
  .meta({ id: 'ModeratedLink' });

export const queueAnswer = z.strictObject({
  entries: z.array(z.strictObject({ link: moderatedLink, review: reviewAnswer })),
  waiting: z.int().min(0).meta({ description: 'How many wait, on all pages.' }),
  oldestAt: time('Since when the oldest of them waits.').nullable(),
  nextCursor,
});

export const auditEntryAnswer = z
  .strictObject({
    id: z.string(),
    at: time('When it happened.'),
    actor: z.strictObject({
      kind: z.enum(['anonymous', 'account', 'system']),
      accountId: z.string().nullable(),
      keyId: z.string().nullable(),
    }),
    action: z.string().meta({ examples: ['link.decided'] }),
    subject: z.strictObject({ kind: z.enum(auditSubjectKinds), id: z.string() }),
    before: z.unknown().meta({ description: 'What was, as far as it was changed.' }),
    after: z.unknown().meta({ description: 'What is since.' }),
    reason: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' });

export const auditParameters = z
  .strictObject({
    ...pageOf('Entries'),
    subjectKind: z
      .enum(auditSubjectKinds)
      .optional()
      .meta({ description: 'What kind of thing was changed.' }),
    subjectId: words(253).optional().meta({ description: 'Which one; needs `subjectKind`.' }),
    accountId: words(64).optional().meta({ description: 'Who changed it.' }),
    action: words(64).optional().meta({ description: 'What was done, such as `link.decided`.' }),
    from: moment.optional().meta({ description: 'Not before this time.' }),
    to: moment.optional().meta({ description: 'Before this time.' }),
  })
  .refine(
    query => query.subjectId === undefined || query.subjectKind !== undefined,
    'subjectId needs a subjectKind',
  );

export const auditAnswer = z.strictObject({ entries: z.array(auditEntryAnswer), nextCursor });

export const caseAnswer = z.strictObject({
  link: moderatedLink,
  review: reviewAnswer.nullable(),
  reports: z
    .array(
      z.strictObject({
        category: z.enum(reportCategories),
        text: z.string().nullable(),
        at: time('When it was reported first.'),
        times: z.int().min(1).meta({ description: 'How often by the same reporter.' }),
      }),
    )
    .meta({ description: 'The first hundred.' }),
  history: auditAnswer.meta({ description: 'The newest changes and notes.' }),
});

export const historyAnswer = z.strictObject({
  entries: z.array(
    z.strictObject({
      at: time('When it happened.'),
      action: z.string().meta({ examples: ['link.updated'] }),
      by: z.enum(['owner', 'moderation', 'operator', 'anonymous', 'system']),
      before: z.record(z.string(), z.unknown()).nullable(),
      after: z.record(z.string(), z.unknown()).nullable(),
      reason: z.string().nullable().meta({ description: 'Why, where someone said so.' }),
    }),
  ),
  nextCursor,
});
