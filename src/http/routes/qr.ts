/** A link's QR code, as a drawing or as pixels. */
import { readLink } from '../../links/read.ts';
import { qrPng, qrSvg } from '../../web/qr.ts';
import { defineRoute, type Route } from '../route.ts';
import { qrParameters } from '../schemas.ts';
import type { LinkRoutesOptions } from './links.ts';

export function qrRoute({ links, baseUrl }: LinkRoutesOptions): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/v1/links/{code}/qr',
    name: 'readQrCode',
    summary: 'A QR code of the short URL',
    auth: 'required',
    scope: 'links:read',
    limit: 'read',
    query: qrParameters,
    answers: { 200: { description: 'The image.', mediaTypes: ['image/svg+xml', 'image/png'] } },
    problems: ['not_found', 'link_deleted'],
    async handle({ params, query: { format, size }, actor }) {
      const link = await readLink(links, actor, params.code!);
      const shortUrl = `${baseUrl}/${link.code}`;
      const image =
        format === 'svg' ? qrSvg(shortUrl, { sizePx: size }) : new Blob([qrPng(shortUrl, { sizePx: size })]);
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
