/**
 * The frame of every page: head, wordmark, landmarks. A page brings its title and the content of its main
 * landmark. Nothing here is inline script or style, so the strict policy below holds.
 */
import { assetUrl } from './assets.ts';
import { type Html, html } from './html.ts';

interface Page {
  readonly title: string;
  readonly description: string;
  /** Only pages about Terse itself belong in a search engine. */
  readonly indexable: boolean;
  /** A style hook for the main landmark, such as `landing`. */
  readonly kind: 'landing' | 'status' | 'preview' | 'docs' | 'report';
  readonly main: Html;
  /** More for the head: files of a package. */
  readonly head?: Html;
  /** Path of a module of ours that the page runs. */
  readonly script?: string;
}

export function layout(page: Page): string {
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${page.title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${page.description}">
<meta name="color-scheme" content="light dark">
${!page.indexable && html`<meta name="robots" content="noindex">`}
<link rel="icon" href="${assetUrl('/assets/favicon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetUrl('/assets/terse.css')}">
${page.head}
${page.script !== undefined && html`<script type="module" src="${assetUrl(page.script)}"></script>`}
</head>
<body>
<a class="skip-link" href="#main">Skip to the content</a>
<header class="site-header">
<a class="wordmark" href="/" aria-label="Terse, home">${wordmark}</a>
<nav aria-label="Site">
<a class="site-link" href="/dashboard">Dashboard</a>
<a class="site-link" href="/docs"${page.kind === 'docs' && html` aria-current="page"`}>API reference</a>
</nav>
</header>
<main id="main" class="${page.kind}">
${page.main}
</main>
<footer class="site-footer">
<p>Add <kbd>+</kbd> to any short link to see where it leads before you go.</p>
</footer>
</body>
</html>
`.toString();
}

/** Drawn in strokes, so that it looks the same with any fonts; the blue stop is a full stop. */
const wordmark = html`<svg viewBox="0 0 65 24" width="87" height="32" aria-hidden="true" focusable="false"><path fill="none" stroke="currentColor" stroke-width="3" d="M5 4v11a3.5 3.5 0 0 0 3.5 3.5h2M1 9.5h9.5M14 14h8.5a4.5 4.5 0 1 0-1.3 3.2M27.5 20V8M27.5 14a4.5 4.5 0 0 1 4.5-4.5h1.5M43.5 9.5h-4.8a2.25 2.25 0 0 0 0 4.5h2.1a2.25 2.25 0 0 1 0 4.5H35.8M48 14h8.5a4.5 4.5 0 1 0-1.3 3.2"/><circle class="wordmark-stop" cx="62.2" cy="17.8" r="2.2"/></svg>`;

/**
 * The headers of every page. Scripts and styles come from our own files only, so text that slipped through escaping
 * would still not run; nothing may frame a page, and no page sends a referrer.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The landing page fetches a QR code with the visitor's key and shows it from a data: address.
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** For pages that are the same for all visitors: cached by a browser, but revalidated before each use. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy,
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Cache-Control': 'no-cache',
};

/** For pages about one link's state, which may change with the next request. */
export const statusPageHeaders: Readonly<Record<string, string>> = {
  ...pageHeaders,
  'Cache-Control': 'no-store',
};

/** For assets: their URLs change with their content. */
export const assetHeaders: Readonly<Record<string, string>> = {
  'Cache-Control': 'public, max-age=86400',
};
