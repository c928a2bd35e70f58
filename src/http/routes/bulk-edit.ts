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
import { jsonInTurns } from '../json-in-turns.ts';
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
import { defineRoute, jsonText, type Route } from '../route.ts';
import { bodyBytesMax, clicksOrUnknown, type LinkRoutesOptions } from './links.ts';

const path = '/api/v1/links/bulk';
const description =
  'One result per link, in the order of `codes` or newest first, given once all of them are durable. A `filter` chooses ' +
  'up to `limit` of your links: repeat the call with `nextCursor` until that is null.';

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
    viewAt: (link: Exclude<EditResult, Problem>, place: number) => object,
  ): Promise<Response> => {
    const text = await jsonInTurns(results, (result, place) => ({
      shortCode: codes[place]!,
      ...(result instanceof Problem
        ? { status: result.status, problem: problemDocument(result) }
        : viewAt(result, place)),
    }));
    return jsonText(`{"results":${text},"nextCursor":${JSON.stringify(nextCursor ?? null)}}`);
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
      body: { schema: bulkEditBody, bytesMax: bodyBytesMax },
      answers: { 200: { description: 'What became of each link.', schema: bulkEditAnswer } },
      problems: ['invalid_url', 'invalid_expiry'],
      async handle({ body, actor, request }) {
        const selection = await selectionOf(actor, body);
        const { codes } = selection;
        const [results, counts] = await Promise.all([
          updateLinks(links, actor, codes, body.change, addressOf(request)),
          clicksOrUnknown(clicks)(codes),
        ]);
        return answer(selection, results, (link, place) => ({
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
      body: { schema: bulkDeleteBody, bytesMax: bodyBytesMax },
      answers: { 200: { description: 'What became of each link.', schema: bulkDeleteAnswer } },
      problems: [],
      async handle({ body, actor }) {
        const selection = await selectionOf(actor, body);
        return answer(selection, await removeLinks(links, actor, selection.codes), () => ({ status: 204 }));
      },
    }),
  ];
}
