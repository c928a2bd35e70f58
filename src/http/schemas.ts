/** Schemas of requests and answers. They validate, and the OpenAPI document is generated from them. */
import { z } from 'zod';
import { urlInputBytesMax } from '../abuse/url-policy.ts';
import { noAnswerReasons } from '../health/health.ts';
import { forEachFlag } from '../links/fields.ts';
import { codePattern, redirectTypes } from '../links/link.ts';
import { qrSizePx } from '../web/qr.ts';

/** NUL and lone surrogates cannot be stored or shown everywhere. */
const isWellFormed = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
/**
 * Every string of a request starts with this: a string beyond its limit gets no further checks. Without `abort` the
 * library would still run patterns and refinements, some of which take more than linear time.
 */
export const upTo = (lengthMax: number) =>
  z.string().max(lengthMax, { abort: true, error: `must have at most ${lengthMax} characters` });
export const text = (lengthMin: number, lengthMax: number) =>
  upTo(lengthMax).min(lengthMin).refine(isWellFormed, 'must not contain broken Unicode or NUL characters');

const isoTimeLengthMax = 40;

const isoTimeShape =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?))?$/;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/**
 * Milliseconds since the epoch of a time as people write it in ISO 8601: a date alone, which is its midnight in UTC, or a
 * date with a time to the minute, the second or a fraction of it, with `Z` or an offset. A time without a zone is
 * rejected, because it is ambiguous. Undefined for text that is not a time, or a date that does not exist, such as
 * 30 February.
 */
export function parseIsoTime(text: string): number | undefined {
  const found = text.length <= isoTimeLengthMax ? isoTimeShape.exec(text) : null;
  if (found === null) return undefined;
  const numberAt = (group: number): number => Number(found[group] ?? 0);
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(numberAt) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const fractionMs = Math.floor(Number(`0.${found[7] ?? '0'}`) * 1_000);
  const [offsetHours, offsetMinutes] = [numberAt(9), numberAt(10)];
  if (minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59) return undefined;
  // The midnight that ends a day may be written as hour 24.
  if (hour > 24 || (hour === 24 && minute + second + fractionMs > 0)) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const offsetMs = (offsetHours * hourMs + offsetMinutes * minuteMs) * (found[8] === '-' ? -1 : 1);
  return date.getTime() + hour * hourMs + minute * minuteMs + second * 1_000 + fractionMs - offsetMs;
}

/** ISO 8601 in the API, milliseconds since the epoch in the code. */
export const moment = upTo(isoTimeLengthMax)
  .transform((text, { addIssue }) => {
    const timeMs = parseIsoTime(text);
    if (timeMs !== undefined) return timeMs;
    addIssue('must be an ISO 8601 date, or time with a zone, such as 2030-01-31 or 2030-01-31T12:00Z');
    return z.NEVER;
  })
  .meta({ format: 'iso-8601' });

export const url = {
  description: 'Absolute http or https URL, at most 8,192 bytes as sent and 2,048 once serialised.',
  format: 'uri',
  examples: ['https://example.com/a/long/path?with=query'],
};
const code = {
  description: 'The code in the short URL: generated, or the alias.',
  pattern: codePattern.source,
  examples: ['aZ3kQ9x'],
};
/** Printable and without spaces, so that it survives every log and every proxy. */
export const idempotencyKeyPattern = /^[!-~]{1,255}$/;

const longUrl = upTo(urlInputBytesMax).meta(url);
const title = text(0, 300)
  .nullable()
  .meta({
    description: 'A name for people; shown on the preview page. Null for none.',
    examples: ['Spring offer'],
  });
const tags = z
  .array(text(1, 50))
  .max(20)
  .meta({
    description: 'Up to 20 labels to find links by.',
    examples: [['spring', 'newsletter']],
  });
const redirectType = z
  .literal([...redirectTypes])
  .meta({ description: 'The status a visitor gets. 302 keeps the link editable and countable.' });
const status = z
  .enum(['active', 'disabled'])
  .meta({ description: '`disabled` answers 410 until it is `active` again.' });
export const state = z.enum(['active', 'disabled', 'expired', 'exhausted', 'quarantined', 'blocked']);
const maxClicks = z
  .int()
  .min(1)
  .max(1_000_000_000)
  .nullable()
  .meta({ description: 'Human clicks after which the link stops working; null for no limit.' });
const statsTokensFrom = {
  description: 'Since when there are tokens for the statistics; null for none. Set to null, it revokes all.',
};
const flag = (description: string) => z.boolean().meta({ description });

export const expiresAt = moment.nullable().meta({
  description: 'ISO 8601 time with a zone, in the future; null for never.',
  examples: ['2030-01-31T12:00:00Z'],
});

export const createBody = z
  .strictObject({
    longUrl,
    // Longer than an alias can be, so that a typo gets its own error message.
    customAlias: upTo(256)
      .optional()
      .meta({
        description: 'Your own code: 1–64 of letters, digits, “_” and “-”. Needs an API key.',
        pattern: codePattern.source,
        examples: ['spring-offer'],
      }),
    expiresAt: expiresAt.optional(),
    title: title.optional(),
    tags: tags.optional(),
    redirectType: redirectType.optional(),
    findExisting: z.boolean().optional().meta({
      description:
        'Return your existing live link to the same URL instead of making another. Without an API key it has no effect.',
    }),
    maxClicks: maxClicks.optional(),
    ...forEachFlag((_, doc) => flag(doc).optional()),
  })
  .meta({ id: 'NewLink' });

export const bulkItemsMax = 10_000;
export const bulkBody = z.strictObject({
  links: z
    // Each item is validated separately, so here it can be anything.
    .array(z.unknown().meta({ $ref: '#/components/schemas/NewLink' }))
    .min(1)
    .max(bulkItemsMax)
    .meta({ description: 'Each item is the body of a create; a bad item does not fail the others.' }),
});

export const patchBody = z
  .strictObject({
    longUrl: longUrl.optional(),
    expiresAt: expiresAt.optional(),
    status: status.optional(),
    title: title.optional(),
    tags: tags.optional(),
    addTags: tags.optional().meta({ description: 'Tags to add to those that it has.' }),
    removeTags: tags.optional().meta({ description: 'Tags to remove; others stay.' }),
    redirectType: redirectType.optional(),
    ...forEachFlag((_, doc) => flag(doc).optional()),
    statsTokensFrom: z.null().optional().meta(statsTokensFrom),
    maxClicks: maxClicks.optional(),
  })
  .refine(body => Object.keys(body).length > 0, 'names nothing to change')
  .meta({ id: 'LinkChange', description: 'What to change; the rest stays as it is.', minProperties: 1 });

/** PUT replaces the whole link; fields that are left out return to their defaults. */
export const putBody = z
  .strictObject({
    longUrl,
    expiresAt: expiresAt.default(null).meta({ default: null }),
    status: status.optional().meta({ default: 'active' }),
    title: title.default(null),
    tags: tags.default([]),
    redirectType: redirectType.default(302),
    ...forEachFlag((_, doc) => flag(doc).default(false)),
    statsTokensFrom: z.null().default(null).meta(statsTokensFrom),
    maxClicks: maxClicks.default(null),
  })
  .meta({ id: 'WholeLink' });

/** A number in a query is written in plain digits: `0x10`, `1e1` and `5.0` are typos, not numbers. */
export const wholeNumber = ({ min, max, default: value }: { min: number; max: number; default: number }) =>
  z
    .preprocess(
      text => (typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : text),
      z.int(`must be a whole number from ${min} to ${max}`).min(min).max(max),
    )
    .default(value)
    .meta({ default: value });

export const qrParameters = z.strictObject({
  format: z.enum(['svg', 'png']).default('svg').meta({ description: 'Vector or pixels.' }),
  size: wholeNumber(qrSizePx).meta({ description: 'Width and height in pixels.' }),
});

export const time = (description: string) =>
  z.iso.datetime().meta({ description, examples: ['2026-01-31T12:00:00.000Z'] });

const linkHealth = z.strictObject({
  status: z.enum(['ok', 'failing']),
  checkedAt: time('When it was last asked.'),
  failingSince: time('Since when every check has failed; null when the last one did not.').nullable(),
  httpStatus: z.int().nullable().meta({ description: 'What it answered with; null when it did not.' }),
  reason: z
    .enum(noAnswerReasons)
    .nullable()
    .meta({ description: 'Why there was no answer; null when there was.' }),
});

export const linkAnswer = z
  .strictObject({
    shortCode: z.string().meta(code),
    shortUrl: z
      .string()
      .meta({ description: 'The short URL.', format: 'uri', examples: ['https://terse.example/aZ3kQ9x'] }),
    longUrl: z.string().meta({ ...url, description: 'Where the link leads, as a browser writes it.' }),
    status: state.meta({ description: 'The stored status, or what time and clicks have made of it.' }),
    createdAt: time('When the link was created.'),
    updatedAt: time('When the link was last changed.'),
    expiresAt: time('When the link expires; null for never.').nullable(),
    title: z.string().nullable().meta({ description: 'A name for people.' }),
    tags: z.array(z.string()).meta({ description: 'Labels to find links by, each once.' }),
    redirectType,
    ...forEachFlag((_, doc) => flag(doc)),
    statsTokensFrom: time(statsTokensFrom.description).nullable(),
    maxClicks: z.int().nullable().meta({ description: 'Human clicks after which the link stops working.' }),
    usedClicks: z.int().min(0).meta({ description: 'Human clicks counted while there was a `maxClicks`.' }),
    clicks: z.int().min(0).nullable().meta({
      description:
        'How often people have followed it, of all time, as counted some seconds ago; null when that is not known.',
    }),
    custom: z.boolean().meta({ description: 'Whether the code was chosen as an alias.' }),
    health: linkHealth.nullable().optional().meta({
      description:
        'Whether the destination still answers; null while nothing is known. Only when a link is read or listed, on a server that checks.',
    }),
  })
  .meta({ id: 'Link' });

const { shortCode, shortUrl, createdAt } = linkAnswer.shape;

export const previewAnswer = z
  .strictObject({
    shortCode,
    shortUrl,
    longUrl: linkAnswer.shape.longUrl
      .nullable()
      .meta({ description: 'The destination; null if it has `maxClicks`, until it is followed.' }),
    notice: z.string().nullable().meta({ description: 'Why `longUrl` is null; null if it is not.' }),
    createdAt,
    expiresAt: linkAnswer.shape.expiresAt,
    state: z.enum(['active', 'quarantined']).meta({
      description:
        'A link that leads nowhere has no preview; a `quarantined` one warns before it is followed.',
    }),
  })
  .meta({ id: 'Preview' });

export const problemAnswer = z
  .looseObject({
    type: z.string().meta({
      description: 'Where the problem is explained, relative to this server.',
      format: 'uri-reference',
      examples: ['/docs#problem-invalid_url'],
    }),
    title: z.string().meta({ description: 'The same for every problem with this `code`.' }),
    status: z.int().min(400).max(599).meta({ description: 'The HTTP status of the answer.' }),
    detail: z.string().meta({ description: 'A sentence for the person who has to fix it.' }),
    code: z.string().meta({ description: 'Stable name of the problem, for programs.' }),
    field: z.string().optional().meta({ description: 'The field that is wrong, where it is one.' }),
    reason: z.string().optional().meta({ description: 'What is wrong with a URL, for programs.' }),
    limit: z
      .union([z.string(), z.int()])
      .optional()
      .meta({ description: 'The name of the limit that was reached, or how much the plan allows at once.' }),
    retryAfter: z.int().optional().meta({ description: 'With a 429: after how many seconds to repeat it.' }),
    outcome: z
      .enum(['none', 'unknown'])
      .optional()
      .meta({
        description:
          'With a 503 to a request that changes something: `none`, nothing was done and it is safe to repeat, or ' +
          '`unknown`, it may have been carried out.',
      }),
    errors: z
      .array(z.strictObject({ field: z.string(), message: z.string() }))
      .optional()
      .meta({ description: 'Every field that is wrong, up to ten.' }),
  })
  .meta({ id: 'Problem' });

export const bulkAnswer = z.strictObject({
  results: z.array(
    z.union([
      z.strictObject({ status: z.literal([200, 201]), link: linkAnswer }),
      z.strictObject({ status: z.int().min(400), problem: problemAnswer }),
    ]),
  ),
});

const health = z.enum(['ok', 'unavailable']);
export const healthAnswer = z
  .strictObject({
    status: health,
    parts: z.record(z.string(), health).optional().meta({ description: 'The parts by name.' }),
  })
  .meta({ id: 'Health' });

export const aliasAnswer = z
  .strictObject({
    alias: z.string().meta({ description: 'The alias that was checked.' }),
    available: z.boolean().meta({ description: 'Whether it could be had when the answer was made.' }),
    code: z
      .enum(['invalid_alias', 'alias_reserved', 'alias_offensive', 'alias_taken'])
      .nullable()
      .meta({ description: 'The problem that creating it would get; null for none.' }),
    reason: z.string().nullable().meta({ description: 'The same in a sentence.' }),
  })
  .meta({ id: 'AliasAvailability' });

export const statusAnswer = z
  .strictObject({
    version: z.string().meta({ description: 'Of Terse.', examples: ['0.1.0'] }),
    at: time('When the numbers were read.'),
    startedAt: time('When this process began to count.'),
    parts: z.record(z.string(), z.boolean()).meta({ description: 'Each part, and whether it works.' }),
    metrics: z.array(
      z.strictObject({
        name: z.string().meta({ examples: ['url_redirects_total'] }),
        help: z.string(),
        type: z.string().meta({ examples: ['counter'] }),
        samples: z.array(
          z.strictObject({
            labels: z.record(z.string(), z.string()),
            value: z.number().nullable().meta({ description: 'Null where there is no number yet.' }),
          }),
        ),
      }),
    ),
  })
  .meta({ id: 'Status' });
