/**
 * The dashboard's addresses: one page for every path below `/dashboard`, whose script finds out what to show, and
 * its files, which never change under their names.
 */
import { assetHeaders, pageHeaders } from '../security-headers.ts';
import { type DashboardFile, dashboardBundle } from './bundle.ts';
import { shellPage } from './shell.ts';

export type DashboardHandler = (request: Request) => Promise<Response>;

export interface DashboardOptions {
  readonly baseUrl: string;
}

const yearS = 365 * 24 * 60 * 60;
const fileHeaders = { ...assetHeaders, 'Cache-Control': `public, max-age=${yearS}, immutable` };

/** Path patterns with their handlers, for GET and HEAD. */
export function dashboardHandlers({ baseUrl }: DashboardOptions): Record<string, DashboardHandler> {
  let page: string | undefined;
  let files: ReadonlyMap<string, DashboardFile> | undefined;

  const showPage: DashboardHandler = async () => {
    page ??= shellPage({ bundle: await dashboardBundle(), baseUrl });
    return new Response(page, { headers: pageHeaders });
  };
  const showFile: DashboardHandler = async request => {
    files ??= new Map(Object.values(await dashboardBundle()).map((file: DashboardFile) => [file.path, file]));
    const file = files.get(new URL(request.url).pathname);
    return file === undefined ? new Response('Not found\n', { status: 404 }) : answerWith(file, request);
  };
  return { '/dashboard': showPage, '/dashboard/*': showPage, '/assets/*': showFile };
}

function answerWith({ text, gzip, contentType }: DashboardFile, request: Request): Response {
  const headers = { ...fileHeaders, 'Content-Type': contentType, Vary: 'Accept-Encoding' };
  return /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
    ? new Response(gzip, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
    : new Response(text, { headers });
}
