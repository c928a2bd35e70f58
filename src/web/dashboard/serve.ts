/**
 * The dashboard's routes: one page for every path below `/dashboard`, whose script decides what to show, and its files as
 * a browser gets them: one script, its texts in another language, one style sheet, a tiny script that sets the theme
 * before anything is drawn, and the world map. There is no build step before a start: the files are bundled at the first
 * request for the dashboard, in their own thread, and kept in memory. An executable carries them prebuilt, see build.ts.
 *
 * Invariant: a file's name carries the hash of its content, so it may be cached forever.
 */
import { assetUrl } from '../assets.ts';
import { html } from '../html.ts';
import { assetHeaders, pageHeaders } from '../layout.ts';
import { prebuilt } from './prebuilt.ts';
import { texts } from './texts.ts';

export interface DashboardFile {
  /** As in `/assets/dashboard.1a2b3c4d.js`. */
  readonly path: string;
  readonly contentType: string;
  readonly text: string;
}

export interface DashboardBundle {
  readonly script: DashboardFile;
  readonly german: DashboardFile;
  readonly theme: DashboardFile;
  readonly style: DashboardFile;
  readonly map: DashboardFile;
}

type DashboardHandler = (request: Request) => Promise<Response>;

interface DashboardOptions {
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
    if (file === undefined) return new Response('Not found\n', { status: 404 });
    return new Response(file.text, { headers: { ...fileHeaders, 'Content-Type': file.contentType } });
  };
  return { '/dashboard': showPage, '/dashboard/*': showPage, '/assets/*': showFile };
}

let bundling: Promise<DashboardBundle> | undefined;

/** All servers of a process share one bundle; after a failure, the next request retries. */
function dashboardBundle(): Promise<DashboardBundle> {
  bundling ??= (prebuilt === undefined ? bundleInThread() : Promise.resolve(prebuilt)).catch(error => {
    bundling = undefined;
    throw error;
  });
  return bundling;
}

function bundleInThread(): Promise<DashboardBundle> {
  const worker = new Worker(new URL('./build-thread.ts', import.meta.url));
  const { promise, resolve, reject } = Promise.withResolvers<DashboardBundle>();
  worker.onmessage = ({ data }: MessageEvent<DashboardBundle>) => resolve(data);
  worker.onerror = event => reject(new Error(`the dashboard cannot be bundled: ${event.message}`));
  return promise.finally(() => worker.terminate());
}

interface ShellView {
  readonly bundle: DashboardBundle;
  /** Public origin of the short links. */
  readonly baseUrl: string;
}

/** The one page of the dashboard. The script renders everything in it; without the script, it says what is missing. */
function shellPage({ bundle, baseUrl }: ShellView): string {
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${texts.product}</title>
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="terse-base-url" content="${baseUrl}">
<meta name="terse-map" content="${bundle.map.path}">
<meta name="terse-texts-de" content="${bundle.german.path}">
<link rel="icon" href="${assetUrl('/assets/favicon.svg')}" type="image/svg+xml">
<script src="${bundle.theme.path}"></script>
<link rel="stylesheet" href="${bundle.style.path}">
<script type="module" src="${bundle.script.path}"></script>
</head>
<body>
<div id="dashboard"></div>
<noscript><p class="noscript">${texts.noScript}</p></noscript>
</body>
</html>
`.toString();
}
