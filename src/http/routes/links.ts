/** The routes of links: create, read, list, edit, delete. */
import { Problem } from '../../base/errors.ts';
import type { LinkClicks } from '../../clicks/stats.ts';
import type { HealthRecord } from '../../health/health.ts';
import { aliasAvailability } from '../../links/alias-policy.ts';
import type { LinkContext } from '../../links/context.ts';
import { createLink } from '../../links/create.ts';
import type { Link } from '../../links/link.ts';
import { countLinks, listByClicks, listLinks, type RankLinks, readLink } from '../../links/read.ts';
import { removeLink, updateLink } from '../../links/update.ts';
import { qrPng, qrSvg } from '../../web/qr.ts';
import type { ApiRequest } from '../api-request.ts';
import type { Reply } from '../json-reply.ts';
import { filterOf, listAnswer, listParameters } from '../link-list-schemas.ts';
import { healthView, type LinkAnswer, viewOf } from '../link-view.ts';
import { defineRoute, json, jsonList, type Route } from '../route.ts';
import {
  aliasAnswer,
  createBody,
  idempotencyKeyPattern,
  linkAnswer,
  patchBody,
  putBody,
  qrParameters,
} from '../schemas.ts';

export const bodyBytesMax = 1024 * 1024;
/** Links of a page per token of the limit; a filter may scan five times as many as it finds. */
const linksPerCost = 100;
const filteredListCost = 5;
/** How long a finished edit may still wait for the click count in its answer. */
const editClicksMaxMs = 200;

export interface LinkRoutesOptions {
  readonly links: LinkContext;
  readonly baseUrl: string;
  readonly addressOf: (request: ApiRequest) => string;
  /** The click counts of links, where clicks are counted. */
  readonly clicks?: { readonly of: LinkClicks; readonly rank: RankLinks } | undefined;
  /** The health of destinations, where they are checked. */
  readonly healthOf?: ((links: readonly Link[]) => Promise<(HealthRecord | undefined)[]>) | undefined;
}

/** Every kilobyte of an edit is kept as long as the audit log, so each counts as an edit. */
export const editCost = ({ body }: { readonly body: unknown }): number =>
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

export function linkRoutes({ links, baseUrl, addressOf, clicks, healthOf }: LinkRoutesOptions): Route[] {
  const view = (link: Link, count: number | null) => viewOf(link, baseUrl, links.clock.now(), count);
  const clicksOf = clicksOrUnknown(clicks);
  /** The views of these links, each with the data known about it. */
  const viewerOf = async (shown: readonly Link[]): Promise<(link: Link, index: number) => LinkAnswer> => {
    const [counts, known] = await Promise.all([clicksOf(shown), healthOf?.(shown)]);
    return (link, index) => ({
      ...view(link, counts[index]!),
      ...(known !== undefined && { health: healthView(known[index]) }),
    });
  };
  /** Clicks are found by the owner of the link, who may not be the caller, so they are read after the edit. */
  const edited = async (edit: Promise<Link>): Promise<Reply> => {
    const link = await edit;
    const [count] = await clicksOf([link], editClicksMaxMs);
    return json(view(link, count!));
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
      repeat: 'with-key',
      answers: {
        201: { description: 'The link was created.', schema: linkAnswer },
        200: {
          description:
            'An existing link: one that `findExisting` asked for, or your live link with this alias and this long URL.',
          schema: linkAnswer,
        },
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
      handle({ body, actor, request }) {
        const repeatKey = idempotencyKeyOf(request);
        return createLink(links, actor, body, repeatKey, addressOf(request)).then(({ kind, link }) => {
          const headers = { location: `${baseUrl}/api/v1/links/${link.code}` };
          // A new link cannot have clicks.
          if (kind === 'created') return json(view(link, clicks === undefined ? null : 0), 201, headers);
          return clicksOf([link]).then(([count]) => json(view(link, count!), 200, headers));
        });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/links',
      name: 'listLinks',
      summary: 'List your links',
      description: 'A page may be short and still have a `nextCursor`: continue until it is null.',
      scope: 'links:read',
      limit: 'read',
      limitCost: ({ query: { limit, sort, search, status, destinationDomain, total } }) => {
        const isWalk = (search ?? status ?? destinationDomain) !== undefined || total || sort in ranked;
        return Math.ceil(limit / linksPerCost) * (isWalk ? filteredListCost : 1);
      },
      query: listParameters,
      answers: { 200: { description: 'A page of links.', schema: listAnswer } },
      problems: ['stats_unavailable'],
      async handle({ query: { sort, limit, cursor, total: isTotalWanted, ...given }, actor, spelling }) {
        const filter = filterOf(given);
        const query = { ...filter, limit, cursor };
        const page =
          sort === 'clicks' || sort === '-clicks'
            ? await listByClicks(links, actor, rankWith(clicks), { ...query, order: ranked[sort] })
            : await listLinks(links, actor, { ...query, order: dated[sort] });
        return jsonList({
          clock: links.clock,
          spelling,
          name: 'links',
          items: page.links,
          viewOf: await viewerOf(page.links),
          rest: {
            nextCursor: page.nextCursor ?? null,
            ...(isTotalWanted && { total: (await countLinks(links, actor, filter)) ?? null }),
          },
        });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/links/{code}',
      name: 'readLink',
      summary: 'Read one link',
      scope: 'links:read',
      answers: { 200: oneLink },
      problems: onOwnLink,
      async handle({ params, actor }) {
        const link = await readLink(links, actor, params.code!);
        return json((await viewerOf([link]))(link, 0));
      },
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/links/{code}',
      name: 'editLink',
      summary: 'Change parts of a link',
      scope: 'links:write',
      repeat: 'as-is',
      limit: 'change',
      limitCost: editCost,
      body: { schema: patchBody, bytesMax: bodyBytesMax },
      answers: { 200: oneLink },
      problems: onEdit,
      handle: ({ params, actor, body, request }) =>
        edited(updateLink(links, actor, params.code!, body, addressOf(request))),
    }),
    defineRoute({
      method: 'PUT',
      path: '/api/v1/links/{code}',
      name: 'replaceLink',
      summary: 'Replace a link',
      description:
        'What the body leaves out returns to its default; a link that moderation holds stays held.',
      scope: 'links:write',
      repeat: 'as-is',
      limit: 'change',
      limitCost: editCost,
      body: { schema: putBody, bytesMax: bodyBytesMax },
      answers: { 200: oneLink },
      problems: onEdit,
      handle({ params, actor, body, request }) {
        const change = { ...body, statusElse: 'active' } as const;
        return edited(updateLink(links, actor, params.code!, change, addressOf(request)));
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/links/{code}',
      name: 'deleteLink',
      summary: 'Delete a link',
      description:
        'Its code answers 410 from then on and is never issued again. Deleting it again answers `link_deleted`.',
      scope: 'links:write',
      repeat: 'as-is',
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

const dated = { '-createdAt': 'newest', createdAt: 'oldest' } as const;
const ranked = { '-clicks': 'most', clicks: 'least' } as const;

export const clicksOrUnknown = (clicks: LinkRoutesOptions['clicks']): LinkClicks =>
  clicks?.of ?? (async links => links.map(() => null));

function rankWith(clicks: LinkRoutesOptions['clicks']): RankLinks {
  if (clicks !== undefined) return clicks.rank;
  throw new Problem('invalid_request', {
    detail: 'This server does not count clicks, so lists cannot be sorted by them.',
    fields: { field: 'sort' },
  });
}

export function idempotencyKeyOf({ headers }: ApiRequest): string | undefined {
  const key = headers.get('idempotency-key');
  if (key === null) return undefined;
  if (idempotencyKeyPattern.test(key)) return key;
  throw new Problem('invalid_request', {
    detail: 'An Idempotency-Key is 1 to 255 printable characters without spaces.',
    fields: { field: 'Idempotency-Key' },
  });
}

/** Checks whether an alias is available while a person types it. */
export function aliasRoute(links: LinkContext): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/v1/aliases/{alias}',
    name: 'checkAlias',
    summary: 'Check an alias',
    description:
      'As of now; only creating a link reserves it. An alias that no short URL can contain is not found.',
    scope: 'links:write',
    limit: 'aliasCheck',
    answers: {
      200: { description: 'Whether it is available, also for a reserved alias.', schema: aliasAnswer },
    },
    problems: ['not_found'],
    async handle({ params }) {
      const alias = params.alias!;
      const availability = await aliasAvailability(links, alias);
      return json({
        alias,
        available: availability.isFree,
        code: availability.isFree ? null : availability.code,
        reason: availability.isFree ? null : sentence(availability.detail),
      });
    },
  });
}

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;

/** A link's QR code, as SVG or as PNG. */
export function qrRoute({ links, baseUrl }: LinkRoutesOptions): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/v1/links/{code}/qr',
    name: 'readQrCode',
    summary: 'A QR code of the short URL',
    description: 'Its scans are counted apart from other clicks: it contains the short URL with `?qr`.',
    scope: 'links:read',
    limit: 'read',
    query: qrParameters,
    answers: { 200: { description: 'The image.', mediaTypes: ['image/svg+xml', 'image/png'] } },
    problems: ['not_found', 'link_deleted'],
    async handle({ params, query: { format, size }, actor }) {
      const link = await readLink(links, actor, params.code!);
      // The parameter tells scans from other clicks in the statistics.
      const scanned = `${baseUrl}/${link.code}?qr`;
      const image =
        format === 'svg' ? qrSvg(scanned, { sizePx: size }) : new Blob([qrPng(scanned, { sizePx: size })]);
      return new Response(image, {
        headers: {
          'Content-Type': format === 'svg' ? 'image/svg+xml' : 'image/png',
          'Content-Disposition': `inline; filename="${link.code}.${format}"`,
          'Cache-Control': 'private, max-age=3600',
        },
      });
    },
  });
}
