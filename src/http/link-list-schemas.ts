/** Schemas for choosing links: lists, and changes or deletions of many links in one call. */
import { z } from 'zod';
import { parseUrl, urlInputBytesMax } from '../abuse/url-policy.ts';
import { hostIn } from '../links/list-match.ts';
import type { ListFilter } from '../links/store.ts';
import {
  bulkItemsMax,
  linkAnswer,
  moment,
  patchBody,
  problemAnswer,
  state,
  text,
  upTo,
  url,
  wholeNumber,
} from './schemas.ts';

const cursor = upTo(128);

/** The filter of links, shared by every call that takes many of them. */
const filterFields = {
  search: text(1, 200)
    .optional()
    .meta({ description: 'Part of the code, title or long URL; the case of A to Z does not matter.' }),
  tag: text(1, 50).optional().meta({ description: 'Links with exactly this tag.' }),
  status: state.optional().meta({ description: 'Links in this state.' }),
  destinationDomain: text(1, 253)
    .transform(hostIn)
    .refine(host => host !== undefined, 'must be the name of a host, such as example.com')
    .optional()
    .meta({
      description: 'Links that lead to this host or to one below it, on any port.',
      examples: ['example.com'],
    }),
  longUrl: upTo(urlInputBytesMax)
    .transform(address => parseUrl(address)?.href)
    .refine(address => address !== undefined, 'must be an absolute URL')
    .optional()
    .meta({ ...url, description: 'Links that lead exactly there; compared as a browser writes it.' }),
  createdFrom: moment.optional().meta({ description: 'Links created at this time or later.' }),
  createdTo: moment.optional().meta({ description: 'Links created before this time.' }),
};

/** The same filter as the store expects it. */
export const filterOf = ({
  status: stateWanted,
  destinationDomain: domain,
  ...filter
}: z.output<typeof linkFilter>): ListFilter => ({ ...filter, state: stateWanted, domain });

const linkFilter = z
  .strictObject(filterFields)
  .refine(filter => Object.keys(filter).length > 0, 'names no condition')
  .meta({ id: 'LinkFilter', minProperties: 1 });

/** How many links a filter chooses by default. */
export const bulkFilterLimit = 100;

/** Either codes or a filter; `limit` and `cursor` belong to the filter. */
const selectionFields = {
  codes: z
    .array(upTo(256))
    .min(1)
    .max(bulkItemsMax)
    .optional()
    .meta({ description: 'The links; one that is not yours is answered like one that does not exist.' }),
  filter: linkFilter.optional().meta({ description: 'Or your links that match all of this.' }),
  limit: z
    .int()
    .min(1)
    .max(bulkItemsMax)
    .optional()
    .meta({ description: `With a filter: how many links at the most, ${bulkFilterLimit} unless given.` }),
  cursor: cursor.optional().meta({ description: 'With a filter: `nextCursor` of the call before.' }),
};

export type BulkSelection = z.output<z.ZodObject<typeof selectionFields>>;

const selectionRule = [
  ({ codes, filter, limit, cursor: from }: BulkSelection): boolean =>
    codes === undefined ? filter !== undefined : (filter ?? limit ?? from) === undefined,
  'names either `codes`, or a `filter` with or without `limit` and `cursor`',
] as const;

export const bulkEditBody = z
  .strictObject({ ...selectionFields, change: patchBody })
  .refine(...selectionRule)
  .meta({ id: 'BulkChange' });

export const bulkDeleteBody = z
  .strictObject(selectionFields)
  .refine(...selectionRule)
  .meta({ id: 'BulkDeletion' });

export const listParameters = z.strictObject({
  ...filterFields,
  limit: wholeNumber({ min: 1, max: 1_000, default: 50 }).meta({ description: 'Links per page.' }),
  cursor: cursor.optional().meta({ description: '`nextCursor` of the page before; opaque.' }),
  total: z
    .enum(['true', 'false'])
    .default('false')
    .transform(word => word === 'true')
    .meta({ description: 'Whether to count all links that match.', default: 'false' }),
  sort: z
    .enum(['-createdAt', 'createdAt', '-clicks', 'clicks'])
    .default('-createdAt')
    .meta({ description: 'Newest, oldest, most clicked or least clicked first.' }),
});

export const listAnswer = z.strictObject({
  links: z.array(linkAnswer),
  nextCursor: z.string().nullable().meta({ description: 'For the next page; null on the last.' }),
  total: z.int().min(0).nullable().optional().meta({
    description:
      'How many links match, on all pages; null when they are too many to count in time. Only if `total` was asked for.',
  }),
});

const refusedResult = z.strictObject({
  shortCode: z.string().meta({ description: 'As the request sent it.' }),
  status: z.int().min(400),
  problem: problemAnswer,
});
const bulkNextCursor = z
  .string()
  .nullable()
  .meta({ description: 'For the next call with the same filter; null when all were reached.' });

export const bulkEditAnswer = z.strictObject({
  results: z.array(
    z.union([
      z.strictObject({ shortCode: linkAnswer.shape.shortCode, status: z.literal(200), link: linkAnswer }),
      refusedResult,
    ]),
  ),
  nextCursor: bulkNextCursor,
});

export const bulkDeleteAnswer = z.strictObject({
  results: z.array(
    z.union([
      z.strictObject({ shortCode: linkAnswer.shape.shortCode, status: z.literal(204) }),
      refusedResult,
    ]),
  ),
  nextCursor: bulkNextCursor,
});
