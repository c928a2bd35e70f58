/** Changing or deleting up to ten thousand links in one call, by their codes or by a filter. */
import type { Actor } from '../../accounts/account.ts';
import { Problem } from '../../base/errors.ts';
import {
  type EditResult,
  removeLinks,
  type Selection,
  selectLinks,
  updateLinks,
} from '../../links/edit-many.ts';
import { jsonList } from '../json-in-turns.ts';
import {
  type BulkSelection,
  bulkDeleteAnswer,
  bulkDeleteBody,
  bulkEditAnswer,
  bulkEditBody,
  bulkFilterLimit,
  filterOf,
} from '../link-list-schemas.ts';
import { viewOf } from '../link-view.ts';
import { problemDocument } from '../problem.ts';
import { defineRoute, type Route } from '../route.ts';
import type { RequestSpelling } from '../spellings.ts';
import { bodyBytesMax, clicksOrUnknown, editCost, type LinkRoutesOptions } from './links.ts';

const path = '/api/v1/links/bulk';
const description =
  'One result per link, in the order of `codes` or newest first, given once all of them are durable. A `filter` chooses ' +
  'up to `limit` of your links: repeat the call with `nextCursor` until that is null.';

/** A filter costs as many changes as it may make, and each of them as much as a single edit of its size. */
const changesIn = ({ body }: { readonly body: BulkSelection & { readonly change?: unknown } }): number =>
  (body.codes?.length ?? body.limit ?? bulkFilterLimit) * editCost({ body: body.change ?? {} });

export function bulkEditRoutes({ links, baseUrl, addressOf, clicks }: LinkRoutesOptions): Route[] {
  const selectionOf = async (
    actor: Actor,
    { codes, filter, limit, cursor }: BulkSelection,
  ): Promise<Selection> =>
    codes === undefined
      ? selectLinks(links, actor, filterOf(filter ?? {}), { limit: limit ?? bulkFilterLimit, cursor })
      : { codes, nextCursor: undefined };

  const answer = async (
    { codes, nextCursor }: Selection,
    results: readonly EditResult[],
    spelling: RequestSpelling,
    viewAt: (link: Exclude<EditResult, Problem>, place: number) => object,
  ): Promise<Response> => {
    return jsonList({
      clock: links.clock,
      spelling,
      name: 'results',
      items: results,
      viewOf: (result, place) => ({
        shortCode: codes[place]!,
        ...(result instanceof Problem
          ? { status: result.status, problem: problemDocument(spelling.problem(withinChange(result))) }
          : viewAt(result, place)),
      }),
      rest: { nextCursor: nextCursor ?? null },
    });
  };

  return [
    defineRoute({
      method: 'PATCH',
      path,
      name: 'editLinks',
      summary: 'Change parts of up to 10,000 links',
      description,
      auth: 'required',
      scope: 'links:write',
      limit: 'change',
      limitCost: changesIn,
      body: { schema: bulkEditBody, bytesMax: bodyBytesMax },
      answers: { 200: { description: 'What became of each link.', schema: bulkEditAnswer } },
      problems: ['invalid_url', 'invalid_expiry'],
      async handle({ body, actor, request, spelling }) {
        const selection = await selectionOf(actor, body);
        const { codes } = selection;
        const [results, counts] = await Promise.all([
          updateLinks(links, actor, codes, body.change, addressOf(request)).catch(refuseWithinChange),
          clicksOrUnknown(clicks)(codes),
        ]);
        return answer(selection, results, spelling, (link, place) => ({
          status: 200,
          link: viewOf(link, baseUrl, links.clock.now(), counts[place]!),
        }));
      },
    }),
    defineRoute({
      method: 'DELETE',
      path,
      name: 'deleteLinks',
      summary: 'Delete up to 10,000 links',
      description,
      auth: 'required',
      scope: 'links:write',
      limit: 'change',
      limitCost: changesIn,
      body: { schema: bulkDeleteBody, bytesMax: bodyBytesMax },
      answers: { 200: { description: 'What became of each link.', schema: bulkDeleteAnswer } },
      problems: [],
      async handle({ body, actor, spelling }) {
        const selection = await selectionOf(actor, body);
        const results = await removeLinks(links, actor, selection.codes);
        return answer(selection, results, spelling, () => ({ status: 204 }));
      },
    }),
  ];
}

/** The fields of a link are those of `change` here. */
function withinChange(problem: Problem): Problem {
  const { code, detail, headers, cause, fields } = problem;
  const { field, errors, ...others } = fields;
  if (field === undefined) return problem;
  const within = (name: unknown): string => `change.${String(name)}`;
  const named = (errors as readonly { field: string; message: string }[] | undefined)?.map(error => ({
    ...error,
    field: within(error.field),
  }));
  return new Problem(code, {
    detail,
    headers,
    cause,
    fields: { ...others, field: within(field), ...(named && { errors: named }) },
  });
}

function refuseWithinChange(error: unknown): never {
  throw error instanceof Problem ? withinChange(error) : error;
}
