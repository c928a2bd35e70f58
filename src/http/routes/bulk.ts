/** Ten thousand links in one call. Each item succeeds or fails separately; the answer keeps their order. */
import type { Actor } from '../../accounts/account.ts';
import { Turns } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { type CreateInput, type CreateResult, createLinks } from '../../links/create.ts';
import type { Link } from '../../links/link.ts';
import {
  type EditResult,
  removeLinks,
  type Selection,
  selectLinks,
  updateLinks,
} from '../../links/update.ts';
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
import { defineRoute, jsonList, type Route } from '../route.ts';
import { bulkAnswer, bulkBody, createBody } from '../schemas.ts';
import type { RequestSpelling } from '../spellings.ts';
import { validated } from '../validated.ts';
import {
  bodyBytesMax,
  clicksOrUnknown,
  editCost,
  idempotencyKeyOf,
  type LinkRoutesOptions,
} from './links.ts';

const bulkBytesMax = 16 * 1024 * 1024;
const anonymousBulkBytesMax = 1024 * 1024;
/** Items read before redirects run again. */
const itemsPerTurn = 200;

export function bulkRoute({ links, baseUrl, addressOf, clicks }: LinkRoutesOptions): Route {
  const resultOf = (
    result: CreateResult,
    clicksOfFound: ReadonlyMap<string, number | null>,
    spelling: RequestSpelling,
  ) => {
    if (result instanceof Problem)
      return { status: result.status, problem: problemDocument(spelling.problem(result), 'with-key') };
    const { kind, link } = result;
    const fresh = clicks === undefined ? null : 0;
    const count = kind === 'created' ? fresh : (clicksOfFound.get(link.code) ?? null);
    return {
      status: kind === 'found' ? 200 : 201,
      link: viewOf(link, baseUrl, links.clock.now(), count),
    };
  };

  return defineRoute({
    method: 'POST',
    path: '/api/v1/links/bulk',
    name: 'createLinks',
    summary: 'Shorten up to 10,000 URLs',
    description: 'One result per item, in order, given once all of them are durable.',
    auth: 'optional',
    scope: 'links:write',
    limit: 'create',
    limitCost: ({ body }) => body.links.length,
    body: { schema: bulkBody, bytesMax: bulkBytesMax, anonymousBytesMax: anonymousBulkBytesMax },
    repeat: 'with-key',
    answers: { 200: { description: 'The result of each item.', schema: bulkAnswer } },
    async handle({ body, actor, request, spelling }) {
      const turns = new Turns(links.clock, itemsPerTurn);
      const inputs: (CreateInput | Problem)[] = [];
      const spellings: RequestSpelling[] = [];
      const ours = spelling.item();
      ours.canonical({}, createBody);
      let ofItem = spelling.item();
      for (const item of body.links) {
        if (!turns.hasRoom()) await turns.next();
        inputs.push(inputOf(item, ofItem));
        spellings.push(ofItem.isOurs ? ours : ofItem);
        if (!ofItem.isOurs) ofItem = spelling.item();
      }
      const results = await createGood(inputs, good =>
        createLinks(links, actor, good, idempotencyKeyOf(request), addressOf(request)),
      );
      const found: Link[] = [];
      for (const result of results)
        if (!(result instanceof Problem) && result.kind === 'found') found.push(result.link);
      const counts = await clicksOrUnknown(clicks)(found);
      const clicksOfFound = new Map(found.map(({ code }, index) => [code, counts[index]!]));
      return jsonList({
        clock: links.clock,
        spelling,
        name: 'results',
        items: results,
        viewOf: (result, index) => resultOf(result, clicksOfFound, spellings[index]!),
      });
    },
  });
}

function inputOf(item: unknown, spelling: RequestSpelling): CreateInput | Problem {
  try {
    return validated(createBody, spelling.canonical(item, createBody), 'invalid_request');
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Creates the valid items and puts each result at the position of its item. */
async function createGood(
  inputs: readonly (CreateInput | Problem)[],
  create: (good: CreateInput[]) => Promise<CreateResult[]>,
): Promise<CreateResult[]> {
  const good = inputs.filter((input): input is CreateInput => !(input instanceof Problem));
  const created = await create(good);
  let next = 0;
  return inputs.map(input => (input instanceof Problem ? input : created[next++]!));
}

const path = '/api/v1/links/bulk';
const description =
  'One result per link, in the order of `codes` or newest first, given once all of them are durable. A `filter` chooses ' +
  'up to `limit` of your links: repeat the call with `nextCursor` until that is null.';

/** A filter costs as many changes as it may make, and each costs as much as a single edit of its size. */
const changesIn = ({ body }: { readonly body: BulkSelection & { readonly change?: unknown } }): number =>
  (body.codes?.length ?? body.limit ?? bulkFilterLimit) * editCost({ body: body.change ?? {} });

/** Changing or deleting up to ten thousand links in one call, by their codes or by a filter. */
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
    viewAt: (link: Exclude<EditResult, Problem>) => object,
  ): Promise<Response> => {
    return jsonList({
      clock: links.clock,
      spelling,
      name: 'results',
      items: results,
      viewOf: (result, place) => ({
        shortCode: codes[place]!,
        ...(result instanceof Problem
          ? {
              status: result.status,
              problem: problemDocument(spelling.problem(withinChange(result)), 'as-is'),
            }
          : viewAt(result)),
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
      scope: 'links:write',
      limit: 'change',
      limitCost: changesIn,
      repeat: 'as-is',
      body: { schema: bulkEditBody, bytesMax: bodyBytesMax },
      answers: { 200: { description: 'The result of each link.', schema: bulkEditAnswer } },
      problems: ['invalid_url', 'invalid_expiry'],
      async handle({ body, actor, request, spelling }) {
        const selection = await selectionOf(actor, body);
        const results = await updateLinks(
          links,
          actor,
          selection.codes,
          body.change,
          addressOf(request),
        ).catch(refuseWithinChange);
        const edited = results.filter((result): result is Link => !(result instanceof Problem));
        const counts = await clicksOrUnknown(clicks)(edited);
        const clicksOfEdited = new Map(edited.map(({ code }, index) => [code, counts[index]!]));
        return answer(selection, results, spelling, link => ({
          status: 200,
          link: viewOf(link, baseUrl, links.clock.now(), clicksOfEdited.get(link.code) ?? null),
        }));
      },
    }),
    defineRoute({
      method: 'DELETE',
      path,
      name: 'deleteLinks',
      summary: 'Delete up to 10,000 links',
      description,
      scope: 'links:write',
      limit: 'change',
      limitCost: changesIn,
      repeat: 'as-is',
      body: { schema: bulkDeleteBody, bytesMax: bodyBytesMax },
      answers: { 200: { description: 'The result of each link.', schema: bulkDeleteAnswer } },
      async handle({ body, actor, spelling }) {
        const selection = await selectionOf(actor, body);
        const results = await removeLinks(links, actor, selection.codes);
        return answer(selection, results, spelling, () => ({ status: 204 }));
      },
    }),
  ];
}

/** Here the fields of a link are below `change`. */
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
