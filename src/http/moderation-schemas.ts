/** Request and response schemas of moderation: reports, the queue, decisions, the audit log, the blocklist. */
import { z } from 'zod';
import { type AuditEntry, auditSubjectKinds } from '../audit/audit-entry.ts';
import type { AuditPage } from '../audit/audit-log.ts';
import { codePattern, type Link, stateOf } from '../links/link.ts';
import { decisionDueMs, type Review } from '../moderation/review.ts';
import { reportCategories } from '../moderation/store.ts';
import { isoTime } from './link-view.ts';
import { linkAnswer, moment, text, time, upTo, wholeNumber } from './schemas.ts';

const { shortCode, shortUrl, longUrl, status, createdAt } = linkAnswer.shape;

/** Long enough for the position of the longest alias. */
const cursor = upTo(128).optional().meta({ description: '`nextCursor` of the page before.' });
const nextCursor = z.string().nullable().meta({ description: 'For the next page; null on the last.' });
const pageOf = (what: string) => ({
  limit: wholeNumber({ min: 1, max: 100, default: 50 }).meta({ description: `${what} per page.` }),
  cursor,
});

const words = (lengthMax: number) => text(1, lengthMax);
const reason = words(1_000).meta({ description: 'Why. Visible to the owner of the link.' });

export const reportBody = z
  .strictObject({
    shortCode: upTo(64)
      .regex(codePattern, 'is not the code of a short link')
      .meta({ description: 'The code of the link.', examples: ['aZ3kQ9x'] }),
    category: z.enum(reportCategories).meta({ description: 'What is wrong with it.' }),
    text: text(0, 2_000)
      .optional()
      .meta({
        description: 'What you saw, in your own words.',
        examples: ['It asks for the password of my bank.'],
      }),
  })
  .meta({ id: 'NewReport' });

export const reportAnswer = z.strictObject({
  status: z.literal('received').meta({ description: 'A person will look at it.' }),
});

export const reportPageParameters = z.strictObject({
  code: text(0, 200).optional().meta({ description: 'The code to fill in.' }),
});

export const appealBody = z.strictObject({
  text: words(2_000).meta({
    description: 'Why the link should be released.',
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
    description: 'The `version` that was reviewed; if the link has changed since, nothing is decided.',
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
  unchanged: z.int().min(0).meta({ description: 'Links that already had this status.' }),
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
    score: z.int().min(0).max(100).meta({ description: 'Priority of the review.' }),
    reporters: z.int().min(0).meta({ description: 'How many have reported it since the last decision.' }),
    appeal: z
      .strictObject({ at: time('When the owner appealed.'), text: z.string() })
      .nullable()
      .meta({ description: 'The owner’s appeal; null when none is open.' }),
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
    version: z.int().min(1).meta({ description: 'Send it with a decision.' }),
    risk: z
      .strictObject({ score: z.number(), reasons: z.array(z.string()) })
      .nullable()
      .meta({ description: 'The risk signals of the destination when it was checked.' }),
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
    after: z.unknown().meta({ description: 'The value after the change.' }),
    reason: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' });

export const auditParameters = z
  .strictObject({
    ...pageOf('Entries'),
    subjectKind: z
      .enum(auditSubjectKinds)
      .optional()
      .meta({ description: 'The kind of record that changed.' }),
    subjectId: words(253).optional().meta({ description: 'Its id; needs `subjectKind`.' }),
    accountId: words(64).optional().meta({ description: 'Who changed it.' }),
    action: words(64).optional().meta({ description: 'What was done, such as `link.decided`.' }),
    from: moment.optional().meta({ description: 'Not before this time.' }),
    to: moment.optional().meta({ description: 'Before this time.' }),
  })
  .refine(
    query => query.subjectId === undefined || query.subjectKind !== undefined,
    'subjectId needs a subjectKind',
  );

export const auditAnswer = z.strictObject({
  entries: z.array(auditEntryAnswer),
  accountNames: z
    .record(z.string(), z.string())
    .meta({ description: 'The display names of the accounts that the entries mention, by id.' }),
  nextCursor,
});

export const caseAnswer = z.strictObject({
  link: moderatedLink,
  ownerName: z.string().nullable().meta({ description: 'The display name of its owner; null for none.' }),
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

type QueueEntry = z.output<typeof queueAnswer>['entries'][number];

export const isoOrNull = (timeMs: number | null): string | null => (timeMs === null ? null : isoTime(timeMs));

export function moderatedLinkView(link: Link, baseUrl: string, now: number): QueueEntry['link'] {
  const { code, longUrl, title, createdAt, ownerId, version, risk } = link;
  const state = stateOf(link, now);
  return {
    shortCode: code,
    shortUrl: `${baseUrl}/${code}`,
    longUrl,
    // Deleted links are not shown: there is nothing left to decide.
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

export type ReadNames = (accountIds: readonly string[]) => Promise<Readonly<Record<string, string>>>;

export async function auditView(
  { entries, nextCursor }: AuditPage,
  readNames: ReadNames,
): Promise<z.output<typeof auditAnswer>> {
  const accountNames = await readNames(entries.flatMap(accountsIn));
  return { entries: entries.map(auditEntryView), accountNames, nextCursor: nextCursor ?? null };
}

function accountsIn({ actor, subject, after }: AuditEntry): string[] {
  const { accountId: holder } = (after ?? {}) as { accountId?: unknown };
  return [actor.accountId, subject.kind === 'account' ? subject.id : null, holder].filter(
    id => typeof id === 'string',
  );
}

function auditEntryView({ id, at, actor, action, subject, before, after, reason }: AuditEntry) {
  return { id, at: isoTime(at), actor, action, subject, before, after, reason };
}

export type CaseView = z.output<typeof caseAnswer>;

export const blockEntryBody = z
  .strictObject({
    entry: text(1, 2_048).meta({
      description:
        'A line as in a list file: `evil.example`, `*.evil.example`, `https://good.example/bad`, `paypal-*.example`; ' +
        'with a `-` in front it is an exception.',
      examples: ['evil.example'],
    }),
    reason: text(1, 500)
      .nullable()
      .optional()
      .meta({ description: 'Why, for those who look at it later.', examples: ['phishing of customers'] }),
  })
  .meta({ id: 'NewBlockEntry' });

export const blocklistParameters = z.strictObject({
  limit: wholeNumber({ min: 1, max: 1_000, default: 100 }).meta({ description: 'Entries per page.' }),
  cursor: upTo(64).optional().meta({ description: '`nextCursor` of the page before.' }),
  sort: z.enum(['addedAt', '-addedAt']).default('addedAt').meta({ description: 'Oldest or newest first.' }),
});

const entryFields = {
  id: z.string().meta({ description: 'Identifies the entry.', examples: ['blk_mB3xT0c2vQ1eR7yZ'] }),
  entry: z.string().meta({ description: 'The entry in canonical form.' }),
  reason: z.string().nullable().meta({ description: 'Why it was added.' }),
  addedAt: time('When it was added.'),
  addedBy: z.string().nullable().meta({ description: 'The account that added it.' }),
};
export const blockEntryAnswer = z.strictObject(entryFields).meta({ id: 'BlockEntry' });

export const blocklistAnswer = z.strictObject({
  lists: z
    .array(
      z.strictObject({
        name: z
          .string()
          .meta({ description: '`operator` for the entries below; the file’s name for a file.' }),
        state: z.enum(['loaded', 'kept', 'absent']).meta({
          description:
            '`loaded`: active as it is on disk. `kept`: something is wrong with the file, and the version before ' +
            'is active. `absent`: nothing of it is.',
        }),
        entries: z.int().min(0),
        loadedAt: time('When the active version was loaded.').nullable(),
        fault: z.string().nullable().meta({ description: 'What is wrong with the file.' }),
        complaints: z
          .strictObject({
            unreadable: z.int().min(0).meta({ description: 'Lines that are no entries.' }),
            refused: z
              .int()
              .min(0)
              .meta({ description: 'Entries that would block too much, such as `co.uk`.' }),
            examples: z.array(z.string()),
          })
          .meta({ description: 'Lines of the active version that were left out.' }),
      }),
    )
    .meta({ description: 'Every list, as this process has it.' }),
  entries: z.array(blockEntryAnswer).meta({ description: 'Entries added through this API.' }),
  nextCursor: z.string().nullable().meta({ description: 'For the next page; null on the last.' }),
});
