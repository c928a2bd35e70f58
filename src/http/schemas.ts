/** What requests and answers look like. These schemas validate, and the OpenAPI document is made from them. */
import { z } from 'zod';
import { redirectTypes } from '../links/link.ts';
import { qrSizePx } from '../web/qr.ts';

const wellFormed = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
const text = (lengthMax: number) =>
  z.string().max(lengthMax).refine(wellFormed, 'must not contain broken Unicode or NUL characters');

const title = text(300).meta({ description: 'A name for people; shown on the preview page.' });
const tags = z.array(text(50).min(1)).max(20).meta({ description: 'Up to 20 labels to find links by.' });
const redirectType = z
  .union(redirectTypes.map(type => z.literal(type)))
  .meta({ description: 'The status a visitor gets. 302 keeps the link editable and countable.' });
const maxClicks = z
  .int()
  .min(1)
  .max(1_000_000_000)
  .nullable()
  .meta({ description: 'Human clicks after which the link is gone; null for no limit.' });
const forwardQuery = z.boolean().meta({ description: 'Append the visitor’s query to the destination.' });
const longUrl = z
  .string()
  .meta({
    description: 'Absolute http or https URL, at most 2,048 bytes once serialised.',
    examples: ['https://example.com/'],
  });

/** ISO 8601 with a zone on the outside, milliseconds since the epoch on the inside. */
const expiresAt = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 time with a zone, such as 2030-01-31T12:00:00Z' })
  .transform(time => Date.parse(time))
  .refine(Number.isFinite, 'must be a time that exists')
  .nullable()
  .meta({ description: 'ISO 8601 time with a zone, in the future; null for never.' });

const nullableTitle = title.nullable();

export const createBody = z.strictObject({
  longUrl,
  customAlias: z
    .string()
    .optional()
    .meta({ description: 'Your own code: 1–64 of letters, digits, “_” and “-”. Needs an API key.' }),
  expiresAt: expiresAt.optional(),
  title: nullableTitle.optional(),
  tags: tags.optional(),
  redirectType: redirectType.optional(),
  findExisting: z
    .boolean()
    .optional()
    .meta({ description: 'Return your existing live link to the same URL instead of making another.' }),
  maxClicks: maxClicks.optional(),
  forwardQuery: forwardQuery.optional(),
});

export const bulkItemsMax = 10_000;
export const bulkBody = z.strictObject({
  links: z
    .array(z.unknown())
    .min(1)
    .max(bulkItemsMax)
    .meta({ description: 'Each item is the body of a create; a bad item does not fail the others.' }),
});

export const patchBody = z
  .strictObject({
    longUrl: longUrl.optional(),
    expiresAt: expiresAt.optional(),
    status: z
      .enum(['active', 'disabled'])
      .optional()
      .meta({ description: '`disabled` answers 410 until it is `active` again.' }),
    title: nullableTitle.optional(),
    tags: tags.optional(),
    redirectType: redirectType.optional(),
    forwardQuery: forwardQuery.optional(),
    maxClicks: maxClicks.optional(),
  })
  .refine(body => Object.keys(body).length > 0, 'names nothing to change');

/** PUT states the whole link; what it leaves out returns to its default. */
export const putBody = z.strictObject({
  longUrl,
  expiresAt: expiresAt.default(null),
  status: z.enum(['active', 'disabled']).default('active'),
  title: nullableTitle.default(null),
  tags: tags.default([]),
  redirectType: redirectType.default(302),
  forwardQuery: forwardQuery.default(false),
  maxClicks: maxClicks.default(null),
});

export const keyBody = z.strictObject({
  name: text(100).min(1).meta({ description: 'What the key is for.' }),
});

export const listParameters = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(50).meta({ description: 'Links per page.' }),
  cursor: z.string().max(64).optional().meta({ description: '`nextCursor` of the page before.' }),
  search: text(200)
    .min(1)
    .optional()
    .meta({ description: 'Part of the code, title or long URL; case does not matter.' }),
  tag: text(50).min(1).optional(),
  status: z.enum(['active', 'disabled', 'expired', 'exhausted']).optional(),
  sort: z
    .enum(['-createdAt', 'createdAt'])
    .default('-createdAt')
    .meta({ description: 'Newest first, or oldest first.' }),
});

export const qrParameters = z.strictObject({
  format: z.enum(['svg', 'png']).default('svg'),
  size: z.coerce
    .number()
    .int()
    .min(qrSizePx.min)
    .max(qrSizePx.max)
    .default(qrSizePx.default)
    .meta({ description: 'Pixels.' }),
});

const time = z.iso.datetime();

export const linkAnswer = z
  .strictObject({
    shortCode: z.string(),
    shortUrl: z.string(),
    longUrl: z.string(),
    status: z.enum(['active', 'disabled', 'expired', 'exhausted']),
    createdAt: time,
    updatedAt: time,
    expiresAt: time.nullable(),
    title: z.string().nullable(),
    tags: z.array(z.string()),
    redirectType,
    forwardQuery: z.boolean(),
    maxClicks: z.int().nullable(),
    usedClicks: z.int().meta({ description: 'Clicks counted against `maxClicks`; 0 without a limit.' }),
    custom: z.boolean().meta({ description: 'Whether the code was chosen as an alias.' }),
  })
  .meta({ id: 'Link' });

export const problemAnswer = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().meta({ description: 'Stable name of the problem, for programs.' }),
  })
  .meta({ id: 'Problem' });

export const listAnswer = z.strictObject({ links: z.array(linkAnswer), nextCursor: z.string().nullable() });

export const bulkAnswer = z.strictObject({
  results: z.array(
    z.union([
      z.strictObject({ status: z.literal([200, 201]), link: linkAnswer }),
      z.strictObject({ status: z.int().min(400), problem: problemAnswer }),
    ]),
  ),
});

const keyFields = {
  id: z.string(),
  name: z.string(),
  createdAt: time,
  lastUsedAt: time.nullable(),
  revokedAt: time.nullable(),
};
export const keyAnswer = z.strictObject(keyFields).meta({ id: 'Key' });
export const keyListAnswer = z.strictObject({ keys: z.array(keyAnswer) });
export const newKeyAnswer = z
  .strictObject({
    ...keyFields,
    key: z.string().meta({ description: 'The key itself: shown now and never again.' }),
  })
  .meta({ id: 'NewKey' });

export const healthAnswer = z.strictObject({
  status: z.enum(['ok', 'unavailable']),
  parts: z.record(z.string(), z.enum(['ok', 'unavailable'])).optional(),
});
