/** Ten thousand links in one call. Each item succeeds or fails for itself; the answer keeps their order. */
import { Turns } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { type CreateInput, type CreateResult, createLinks } from '../../links/create.ts';
import { jsonList } from '../json-in-turns.ts';
import { viewOf } from '../link-view.ts';
import { problemDocument } from '../problem.ts';
import { defineRoute, type Route } from '../route.ts';
import { bulkAnswer, bulkBody, createBody } from '../schemas.ts';
import type { RequestSpelling } from '../spellings.ts';
import { validated } from '../validated.ts';
import { clicksOrUnknown, idempotencyKeyOf, type LinkRoutesOptions } from './links.ts';

const bulkBytesMax = 16 * 1024 * 1024;
const anonymousBulkBytesMax = 1024 * 1024;
/** Items read before redirects get their turn. */
const itemsPerTurn = 200;

export function bulkRoute({ links, baseUrl, addressOf, clicks }: LinkRoutesOptions): Route {
  const resultOf = (
    result: CreateResult,
    clicksOfFound: ReadonlyMap<string, number | null>,
    spelling: RequestSpelling,
  ) => {
    if (result instanceof Problem)
      return { status: result.status, problem: problemDocument(spelling.problem(result)) };
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
    idempotent: true,
    answers: { 200: { description: 'What became of each item.', schema: bulkAnswer } },
    problems: [],
    async handle({ body, actor, request, spelling }) {
      const turns = new Turns(links.clock, itemsPerTurn);
      const inputs: (CreateInput | Problem)[] = [];
      const spellings: RequestSpelling[] = [];
      for (const item of body.links) {
        if (!turns.hasRoom()) await turns.next();
        const ofItem = spelling.item();
        spellings.push(ofItem);
        inputs.push(inputOf(item, ofItem));
      }
      const results = await createGood(inputs, good =>
        createLinks(links, actor, good, idempotencyKeyOf(request), addressOf(request)),
      );
      const found = results.flatMap(result =>
        !(result instanceof Problem) && result.kind === 'found' ? [result.link.code] : [],
      );
      const counts = await clicksOrUnknown(clicks)(found);
      const clicksOfFound = new Map(found.map((code, index) => [code, counts[index]!]));
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

/** Creates what is valid and puts each result back where its item stood. */
async function createGood(
  inputs: readonly (CreateInput | Problem)[],
  create: (good: CreateInput[]) => Promise<CreateResult[]>,
): Promise<CreateResult[]> {
  const good = inputs.filter((input): input is CreateInput => !(input instanceof Problem));
  const created = await create(good);
  let next = 0;
  return inputs.map(input => (input instanceof Problem ? input : created[next++]!));
}
