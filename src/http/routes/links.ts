/** The routes of a link's life: create, read, list, edit, delete. */
import { Problem } from '../../base/errors.ts';
import type { HealthRecord } from '../../health/health.ts';
import type { LinkContext } from '../../links/context.ts';
import { createLink } from '../../links/create.ts';
import type { Link } from '../../links/link.ts';
import { listLinks, readLink } from '../../links/read.ts';
import { removeLink, updateLink } from '../../links/update.ts';
import { healthView, type LinkAnswer, viewOf } from '../link-view.ts';
import { defineRoute, json, type Route } from '../route.ts';
import {
  createBody,
  idempotencyKeyPattern,
  linkAnswer,
  listAnswer,
  listParameters,
  patchBody,
  putBody,
} from '../schemas.ts';

export const bodyBytesMax = 1024 * 1024;
/** A filter may look at five times as many links as a page has. */
const filteredListCost = 5;

export interface LinkRoutesOptions {
  readonly links: LinkContext;
  readonly baseUrl: string;
  readonly addressOf: (request: Request) => string;
  /** What is known of where links lead, where somebody asks. */
  readonly healthOf?: ((links: readonly Link[]) => Promise<(HealthRecord | undefined)[]>) | undefined;
}

/** Every kilobyte that an edit brings is kept for as long as the audit trail is, so each counts as an edit. */
const editCost = ({ body }: { readonly body: unknown }): number =>
  Math.ceil(Buffer.byteLength(JSON.stringify(body)) / 1_024);

const oneLink = { description: 'The link.', schema: linkAnswer };
const onOwnLink = ['not_found', 'link_deleted'] as const;
const onEdit = [
  ...onOwnLink,
  'invalid_url',
  'url_blocked',
  'invalid_expiry',
  'link_held',
  'edit_conflict',
] as const;

export function linkRoutes({ links, baseUrl, addressOf, healthOf }: LinkRoutesOptions): Route[] {
  const view = (link: Link) => viewOf(link, baseUrl, links.clock.now());
  const viewsWithHealth = async (shown: readonly Link[]): Promise<LinkAnswer[]> => {
    const known = await healthOf?.(shown);
    return shown.map((link, index) =>
      known === undefined ? view(link) : { ...view(link), health: healthView(known[index]) },
    );
  };
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/links',
      name: 'createLink',
      summary: 'Shorten a URL',
      description: 'The answer is only given once the link is durable.',
      auth: 'optional',
      scope: 'links:write',
      limit: 'create',
      body: { schema: createBody, bytesMax: bodyBytesMax },
      idempotent: true,
      answers: {
        201: { description: 'The link was created.', schema: linkAnswer },
        200: { description: 'An existing link, as `findExisting` asked for.', schema: linkAnswer },
      },
      problems: [
        'invalid_url',
        'url_blocked',
        'invalid_alias',
        'invalid_expiry',
        'alias_taken',
        'alias_reserved',
        'alias_offensive',
        'idempotency_key_reused',
        'codes_exhausted',
      ],
      async handle({ body, actor, request }) {
        const repeatKey = idempotencyKeyOf(request);
        const { kind, link } = await createLink(links, actor, body, repeatKey, addressOf(request));
        const location = `${baseUrl}/api/v1/links/${link.code}`;
        return json(view(link), kind === 'found' ? 200 : 201, { Location: location });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/links',
      name: 'listLinks',
      summary: 'List your links',
      description:
        'A rare match may give a short page that still has a `nextCursor`: go on until it is null.',
      auth: 'required',
      scope: 'links:read',
      limit: 'read',
      limitCost: ({ query: { search, status } }) => ((search ?? status) === undefined ? 1 : filteredListCost),
      query: listParameters,
      answers: { 200: { description: 'A page of links.', schema: listAnswer } },
      problems: [],
      async handle({ query: { status, sort, limit, cursor, tag, search }, actor }) {
        const order = sort === 'createdAt' ? 'oldest' : 'newest';
        const page = await listLinks(links, actor, { limit, cursor, tag, search, state: status, order });
        return json({ links: await viewsWithHealth(page.links), nextCursor: page.nextCursor ?? null });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/links/{code}',
      name: 'readLink',
      summary: 'Read one link',
      auth: 'required',
      scope: 'links:read',
      answers: { 200: oneLink },
      problems: onOwnLink,
      async handle({ params, actor }) {
        const [answer] = await viewsWithHealth([await readLink(links, actor, params.code!)]);
        return json(answer);
      },
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/links/{code}',
      name: 'editLink',
      summary: 'Change parts of a link',
      auth: 'required',
      scope: 'links:write',
      limit: 'change',
      limitCost: editCost,
      body: { schema: patchBody, bytesMax: bodyBytesMax },
      answers: { 200: oneLink },
      problems: onEdit,
      handle: async ({ params, actor, body, request }) =>
        json(view(await updateLink(links, actor, params.code!, body, addressOf(request)))),
    }),
    defineRoute({
      method: 'PUT',
      path: '/api/v1/links/{code}',
      name: 'replaceLink',
      summary: 'State a link anew',
      description:
        'What the body leaves out returns to its default; a link that moderation holds stays held.',
      auth: 'required',
      scope: 'links:write',
      limit: 'change',
      limitCost: editCost,
      body: { schema: putBody, bytesMax: bodyBytesMax },
      answers: { 200: oneLink },
      problems: onEdit,
      async handle({ params, actor, body, request }) {
        const change = { ...body, statusElse: 'active' } as const;
        return json(view(await updateLink(links, actor, params.code!, change, addressOf(request))));
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/links/{code}',
      name: 'deleteLink',
      summary: 'Delete a link',
      description: 'Its code answers 410 from then on and is never issued again.',
      auth: 'required',
      scope: 'links:write',
      limit: 'change',
      answers: { 204: { description: 'The link is deleted.' } },
      problems: [...onOwnLink, 'edit_conflict'],
      async handle({ params, actor }) {
        await removeLink(links, actor, params.code!);
        return new Response(null, { status: 204 });
      },
    }),
  ];
}

export function idempotencyKeyOf(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key');
  if (key === null) return undefined;
  if (idempotencyKeyPattern.test(key)) return key;
  throw new Problem('invalid_request', {
    detail: 'An Idempotency-Key is 1 to 255 printable characters without spaces.',
    fields: { field: 'Idempotency-Key' },
  });
}
